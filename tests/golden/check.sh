#!/usr/bin/env bash
# The golden digests: whether results are still the same, bit for bit. The interpreter is $PYTHON, or that for which the
# module was last built (build/*/CMakeCache.txt), or python.
cd "$(dirname "${BASH_SOURCE[0]}")/../.." || exit 1
if [ -z "$PYTHON" ] && cache=$(ls -t build/*/CMakeCache.txt 2>/dev/null | head -1) && [ -n "$cache" ]; then
    PYTHON=$(sed -n 's/^Python_EXECUTABLE:[^=]*=//p' "$cache")
fi
exec "${PYTHON:-python}" tests/golden check "$@"
