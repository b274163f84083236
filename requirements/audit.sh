#!/bin/sh
# make audit: pip-audit, whose own word for a missing network is a page of traceback. $1 is the interpreter.
errors=$(mktemp) || exit 1
trap 'rm -f "$errors"' EXIT
"$1" -m pip_audit --disable-pip --strict --progress-spinner off --requirement requirements/dev.lock 2> "$errors"
code=$?
if grep -qE '^(requests|urllib3)\.exceptions\.|ServiceError|ConnectionError' "$errors"; then
  echo "audit: nothing was checked: the vulnerability service can't be reached" >&2
  exit 2
fi
cat "$errors" >&2
exit $code
