#!/bin/sh
# Makes the environment of a stamp's folder if it isn't there and installs one lock into it, hashes checked, and those of one's
# own tools: install.sh local|dev|foreign STAMP
# PYTHON picks the interpreter. POSIX sh, since macOS and Debian agree on nothing more.
set -eu
lock=$1 stamp=$2
cd "$(dirname "$0")/.."
venv=$(dirname "$stamp")
python=$venv/bin/python

new_enough() { "$1" -c 'import sys; sys.exit(sys.version_info < (3, 11))' >/dev/null 2>&1; }
stop() { echo "$*" >&2; exit 1; }

find_python() {
    if [ -n "${PYTHON:-}" ]; then
        new_enough "$PYTHON" || stop "PYTHON=$PYTHON is not a Python 3.11 or newer."
        echo "$PYTHON"
        return
    fi
    for name in python3 python3.13 python3.12 python3.11; do
        if new_enough "$name"; then
            echo "$name"
            return
        fi
    done
    stop "This needs Python 3.11 or newer, and none is on the PATH: install one, or name it with PYTHON=/path/to/python3."
}

if ! new_enough "$python"; then
    base=$(find_python)
    version=$("$base" -c 'import sys; print("%d.%d" % sys.version_info[:2])')
    "$base" -c 'import ensurepip, venv' >/dev/null 2>&1 ||
        stop "This Python $version can't make virtual environments: on Debian and Ubuntu, apt install python3-venv (or python$version-venv)."
    echo "Making $venv with Python $version"
    "$base" -m venv --clear "$venv"
fi

# Python compiles what is imported when it is; compiling everything here takes longer than all the rest.
# A lock names all that is needed, and what it leaves out is left out: --no-deps.
install() {
    "$python" -m pip install -qq --disable-pip-version-check --no-compile --no-deps --require-hashes -r "$1" ||
        stop "The packages of $1 could not be installed: the lines above say why."
}

count=$(grep -c '==' "requirements/$lock.lock")
echo "Installing requirements/$lock.lock into $venv (up to $count packages, hashes checked)"
install "requirements/$lock.lock"
for own in lambda/my_agent/tools/*.lock; do
    # Without any, the pattern itself is what is found.
    if [ -f "$own" ] && [ "$lock" != foreign ] && [ "$lock" != real ]; then
        echo "Installing $own"
        install "$own"
    fi
done
rm -f "$venv/$lock"-*.stamp
touch "$stamp"
