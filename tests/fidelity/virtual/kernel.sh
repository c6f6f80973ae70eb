#!/bin/sh
# Builds a User-Mode Linux from the tarball of a kernel's source, into target/virtual. Three minutes on two cores.
#
#     tests/fidelity/virtual/kernel.sh /usr/src/linux-source-7.2.tar.xz
#     tests/fidelity/virtual/kernel.sh /usr/src/linux-source-6.12.tar.xz bbr3.patch
#
# Patches are applied in their order, with `patch -p1`. It needs a C compiler, make, flex, bison, bc and 3 GB of disk. The
# files are only read. What has been built from the tarball, the patches, the configuration and this script stays.
set -eu

if [ ! -f "${1:-}" ]; then
    echo "usage: kernel.sh TARBALL [PATCH...], the source of Linux 6.12 or later, such as /usr/src/linux-source-7.2.tar.xz" >&2
    exit 2
fi
tarball=$1
shift
for patch in "$@"; do
    if [ ! -f "$patch" ]; then
        echo "kernel.sh: there is no patch $patch" >&2
        exit 2
    fi
done
here=$(cd "$(dirname "$0")" && pwd)
out=$here/../../../target/virtual
sum=$(cat "$tarball" "$@" "$here/kernel.config" "$0" | sha256sum)
if [ -x "$out/linux" ] && [ "$(cat "$out/linux.sum" 2>/dev/null)" = "$sum" ]; then
    echo "$(cd "$out" && pwd)/linux is built"
    exit 0
fi
rm -rf "$out/source" "$out/build"
mkdir -p "$out/source" "$out/build"
tar -xf "$tarball" -C "$out/source" --strip-components=1
for patch in "$@"; do
    patch -s -p1 -d "$out/source" < "$patch" || {
        echo "kernel.sh: $patch does not apply to $tarball" >&2
        exit 2
    }
done
cd "$out/source"
# The clock of most distributions. UML has 100 Hz and no choice.
sed -i '/^config HZ$/,/default/s/default 100/default 250/' arch/um/Kconfig
# Without the address of its vDSO, which lacks `__vdso_getcpu`: rustix takes for granted that a vDSO has it.
sed -i 's/^#define ARCH_DLINFO.*/#define ARCH_DLINFO do { } while (0)/' arch/x86/um/asm/elf.h
make -s ARCH=um O="$out/build" KCONFIG_ALLCONFIG="$here/kernel.config" allnoconfig
make -s ARCH=um O="$out/build" -j"$(nproc)" linux
cp "$out/build/linux" "$out/linux"
echo "$sum" > "$out/linux.sum"
rm -rf "$out/source" "$out/build"
echo "built $(cd "$out" && pwd)/linux"
