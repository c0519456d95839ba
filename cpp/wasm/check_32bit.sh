#!/usr/bin/env bash
# Checks that the C library compiles for 32 bits, as WebAssembly requires. Runs only the compiler's front end, one folder
# of the core at a time, in about 15 seconds. Installs the headers of g++-multilib if they are missing and it has the
# permission to do so.
set -euo pipefail
cd "$(dirname "$0")/.."

compiler=${CXX:-g++}
flags=(-m32 -msse2 -std=c++20 -I. -fsyntax-only -fno-math-errno -ffp-contract=off -Wall -Wextra -Wpedantic -Werror
       -DSPARSECRF_ONE_THREAD '-DSPARSECRF_VERSION="0"' -x c++)

works() { echo '#include <vector>' | "$compiler" "${flags[@]}" - 2>/dev/null; }

if [ "$(uname -m)" != x86_64 ]; then
    echo "check-32bit: expected an x86-64 machine, found $(uname -m): left out"
    exit 0
fi
if ! works; then
    if [ "$(id -u)" = 0 ]; then as_root=(); else as_root=(sudo -n); fi
    if command -v apt-get >/dev/null && "${as_root[@]}" true 2>/dev/null; then
        "${as_root[@]}" apt-get -qq update
        "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive \
            apt-get -qq install -y --no-install-recommends g++-multilib >/dev/null
    fi
    works || { echo "check-32bit: expected a $compiler that compiles for 32 bits, found none." \
        "Install it (Debian: apt-get install g++-multilib) and try again." >&2; exit 1; }
fi
for folder in core/{base,simd,corpus,inference,text,model} c; do  # without core/training, as in WebAssembly
    for source in "$folder"/*.cpp; do
        case $source in *kernels_avx*|*kernels_neon*) ;; *) echo "#include \"$source\"" ;; esac
    done | "$compiler" "${flags[@]}" -
done
