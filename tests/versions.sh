#!/usr/bin/env bash
# Runs the Python tests with other versions of what the package needs than requirements.txt has: the lowest that
# pyproject.toml allows, on the oldest Python there is, or the newest that can be had today, on the newest.
#
#     tests/versions.sh lowest|newest        (after make .venv/builders)
#
# The package is built as a wheel and installed like any other, into an environment of its own, .venv-lowest or
# .venv-newest. PYTHON_LOWEST and PYTHON_NEWEST name other interpreters.
set -euo pipefail
cd "$(dirname "$0")/.."

# Interpreters are those of the machine.
export UV_PYTHON_DOWNLOADS=never
uv=.venv/bin/uv
pythons=(python3.10 python3.11 python3.12 python3.13 python3.14 python3)

# The first of the interpreters named that runs.
first_that_runs() {
    for python in "$@"; do
        if "$python" -c 'import sys; sys.exit(sys.version_info < (3, 10))' 2>/dev/null; then
            echo "$python"
            return
        fi
    done
    echo "No Python of version 3.10 or newer is installed." >&2
    return 1
}

case "${1:-}" in
    lowest)
        resolution=lowest-direct
        # Old packages are told by the newest of what they need that they are old.
        warnings=(-W default::DeprecationWarning)
        python=${PYTHON_LOWEST:-$(first_that_runs "${pythons[@]}")}
        ;;
    newest)
        resolution=highest
        warnings=()
        python=${PYTHON_NEWEST:-$(first_that_runs python3.14 python3.13 python3.12 python3.11 python3.10 python3)}
        ;;
    *)
        echo "usage: tests/versions.sh lowest|newest" >&2
        exit 2
        ;;
esac
environment=.venv-$1
wheels=target/wheels-$1

rm -rf "$environment" "$wheels"
.venv/bin/maturin build --release --locked --quiet --out "$wheels"
"$uv" venv --quiet --python "$python" "$environment"
"$uv" pip compile --quiet --python "$environment" --resolution "$resolution" --extra plots --extra compiled --extra gym \
    --extra pandas --no-header --output-file "$environment/requirements.txt" pyproject.toml
# What runs the tests, checks schemas and reads workflows is no part of what is tested: it has the versions of requirements-dev.txt.
runners=($(grep --only-matching --extended-regexp '^(pytest|fastjsonschema|pyyaml)==[^ ]*' requirements-dev.txt))
"$uv" pip install --quiet --python "$environment" --requirement "$environment/requirements.txt" "${runners[@]}"
"$uv" pip install --quiet --python "$environment" --no-deps "$wheels"/*.whl
echo "$("$environment/bin/python" --version) with $("$uv" pip list --quiet --python "$environment" --format freeze | tr '\n' ' ')"
"$environment/bin/pytest" "${warnings[@]}"
