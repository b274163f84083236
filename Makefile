# Every target sets up what it needs in .venv. Works with GNU make 3.81, which is what macOS has.
# Stamps carry the checksum of the locks, so that setting up is a look at two files when nothing changed.

PY := .venv/bin/python
SOURCES := $(wildcard lambda local infra tests bench app.py docs/examples)

# An interpreter that was removed or upgraded away leaves a .venv that can't run: its stamps are void.
$(shell test -x $(PY) || rm -f .venv/*.stamp)
$(shell test -x .venv-foreign/bin/python || rm -f .venv-foreign/*.stamp)
$(shell test -x .venv-real/bin/python || rm -f .venv-real/*.stamp)
# What tools of one's own need is installed as well.
OWN := $(sort $(wildcard lambda/my_agent/tools/*.lock))
DEV := .venv/dev-$(shell cat requirements/local.lock requirements/dev.lock $(OWN) | cksum | cut -d ' ' -f 1).stamp
LOCAL := .venv/local-$(shell cat requirements/local.lock $(OWN) | cksum | cut -d ' ' -f 1).stamp
# dev.lock holds all of the others in the same versions.
LOCAL := $(if $(wildcard $(DEV)),$(DEV),$(LOCAL))

# An environment apart, for packages that nothing but tests/foreign needs.
FOREIGN := .venv-foreign/foreign-$(shell cksum < requirements/foreign.lock | cut -d ' ' -f 1).stamp
# And one for the servers of tests/real.
REAL := .venv-real/real-$(shell cksum < requirements/real.lock | cut -d ' ' -f 1).stamp

export PYTHON
.PHONY: help new update setup demo test test-foreign test-real chat serve lint bench synth diff deploy deploy-local destroy torture audit lock

help:  ## this list
	@awk -F ':.*## *' '/^[a-z-]+:.*##/ { printf "  make %-12s  %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

new: $(LOCAL)  ## make this clone your own: the sample agent goes, a small one of yours comes
	@$(PY) -m local.new

update: $(LOCAL)  ## merge a version of the engine into your clone (VERSION=v2, FROM=remote or address)
	@$(PY) -m local.update $(VERSION) $(if $(FROM),--source $(FROM))

.venv/local-%.stamp:
	@sh requirements/install.sh local $@

.venv/dev-%.stamp:
	@sh requirements/install.sh dev $@

.venv-foreign/foreign-%.stamp:
	@sh requirements/install.sh foreign $@

.venv-real/real-%.stamp:
	@sh requirements/install.sh real $@

setup: $(DEV)  ## make .venv with everything, quick when nothing changed
	@echo "Ready: .venv is set up"

demo: $(LOCAL)  ## run the sample events through the function, all on this machine
	@$(PY) -m local demo $(ARGS)

chat: $(LOCAL)  ## talk to the function in the terminal (ARGS="--keep --set max_steps=3")
	@$(PY) -m local chat $(ARGS)

serve: $(LOCAL)  ## the function behind HTTP on port 8000 (PORT=8000, ARGS="--keep")
	@$(PY) -m local serve $(if $(PORT),--port $(PORT)) $(ARGS)

test: $(DEV)  ## run all tests; FAST=1 leaves out the slow ones (ARGS=tests/my_agent runs yours alone)
	@$(PY) -m pytest -q $(if $(ARGS),$(ARGS),-n auto --dist loadfile) $(if $(FAST),-m "not slow")

test-foreign: $(FOREIGN)  ## run the tests with the real LangChain and LlamaIndex, in .venv-foreign
	@.venv-foreign/bin/python -m pytest -q -m foreign tests/foreign

test-real: $(REAL)  ## run the tests against LiteLLM's proxy and llama.cpp with a small model, in .venv-real
	@.venv-real/bin/python -m pytest -q -m real tests/real

lint: $(DEV)  ## check format, rules and types
	@$(PY) -m ruff format --check .
	@$(PY) -m ruff check .
	@$(PY) -m mypy $(SOURCES)

audit: $(DEV)  ## ask for known vulnerabilities of the locked packages (needs the network)
	@sh requirements/audit.sh $(PY)

LOCK = $(PY) -m uv pip compile --quiet --universal --python-version 3.11 --generate-hashes --no-emit-index-url \
  --custom-compile-command "make lock" $(if $(UPGRADE),--upgrade)

# Each is constrained by those before it, so that all of them fit into one environment; a tool's stands beside its module.
lock: $(DEV)  ## renew the locks from requirements/*.in and the tools' .in (UPGRADE=1 takes the newest versions)
	@constraint=; for name in runtime sdk local dev foreign; do \
	  $(LOCK) $$constraint requirements/$$name.in --output-file requirements/$$name.lock || exit 1; \
	  constraint="--constraint requirements/$$name.lock"; done
	@$(LOCK) --constraint requirements/runtime.lock --no-emit-package llama-cpp-python \
	  requirements/real.in --output-file requirements/real.lock
	@constraints="--constraint requirements/dev.lock"; \
	for name in $(basename $(sort $(wildcard lambda/agent/tools/*.in)) $(sort $(wildcard lambda/my_agent/tools/*.in))); do \
	  $(LOCK) $$constraints $$name.in --output-file $$name.lock || exit 1; \
	  constraints="$$constraints --constraint $$name.lock"; done

synth: $(DEV)  ## write the CloudFormation template to cdk.out (ARGS="-c key=value" for other choices)
diff: $(DEV)  ## what a deployment would change
deploy: $(DEV)  ## deploy into the AWS account of your credentials
destroy: $(DEV)  ## delete what was deployed
synth diff deploy destroy:
	@$(PY) -m infra.cdk $@ $(ARGS)

deploy-local: $(DEV)  ## the whole deployment on this machine, without an account
	@$(PY) -m local.deploy $(ARGS)

bench: $(DEV)  ## what the function costs beside a script written by hand, as ratios
	@$(PY) -m bench $(ARGS)

torture: $(DEV)  ## bad luck at length: kills, crowds, faults (ARGS="--seconds 600 --seed 2")
	@$(PY) -m tests.torture $(ARGS)
