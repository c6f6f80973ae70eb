#!/bin/bash
# Compiles peers.cc against a PyPI wheel of ns-3: build.sh VENV OUT
set -e
here=$(cd "$(dirname "$0")" && pwd)
wheel=$(echo "$1"/lib/python3*/site-packages/ns3)
core=$(basename "$wheel"/lib64/libns3*-core.so)
stem=${core#lib}
stem=${stem%core.so}
libraries=()
for path in "$wheel"/lib64/lib"$stem"*.so; do
    name=$(basename "$path" .so)
    libraries+=("-l${name#lib}")
done
# The wheel itself was built with logging and assertions, which change the layout of its classes.
g++ -std=c++20 -O2 -DNDEBUG -DNS3_LOG_ENABLE -DNS3_ASSERT_ENABLE -I"$wheel/include" "$here/peers.cc" -o "$2" \
    -L"$wheel/lib64" -Wl,--as-needed "${libraries[@]}" -Wl,-rpath,"$wheel/lib64" -Wl,-rpath-link,"$wheel/lib64"
