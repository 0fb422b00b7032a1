#!/usr/bin/env bash
# Makes the Debian packages of a build, and looks at what is in them. With a file system of bare Debian 12 as a third argument (an archive, as
# docker/base-image --keep makes it), as root and with a package source within reach, it installs them there, and builds and runs README's job as
# printed: deb_test.sh BUILD [ARCHIVE]
set -euo pipefail
export PATH=$PATH:/usr/sbin:/sbin
build=$(realpath "$1") archive=${2:-} root=$(cd "$(dirname "$0")/../.." && pwd)
fail() { echo "FAILED: $*" >&2; exit 1; }
command -v dpkg-shlibdeps > /dev/null || { echo "skipped: there is no dpkg-shlibdeps; install dpkg-dev"; exit 77; }
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT

"$root/scripts/package" "$build" "$scratch"
for package in weft weft-dev; do
  file=$(echo "$scratch/${package}"_*.deb)
  dpkg-deb -x "$file" "$scratch/$package"
  dpkg-deb -f "$file" > "$scratch/$package.control"
done
grep -qE '^Depends: .*adduser.*librocksdb' "$scratch/weft.control" || fail "weft does not name its libraries: $(cat "$scratch/weft.control")"
grep -qE '^Depends: weft \(= .*libcli11-dev' "$scratch/weft-dev.control" || fail "weft-dev depends on: $(cat "$scratch/weft-dev.control")"
for path in bin/weft lib/systemd/system/weft-master.service lib/systemd/system/weft-worker.service share/man/man1/weft-job-status.1 \
  share/bash-completion/completions/weft; do
  [ -s "$scratch/weft/usr/$path" ] || fail "weft has no $path"
done
for path in include/weft/weft.h share/doc/weft/api.md share/doc/weft/examples/apps/wordcount.cpp; do
  [ -s "$scratch/weft-dev/usr/$path" ] || fail "weft-dev has no $path"
done
[ "$(ls "$scratch/weft-dev/usr/include")" = weft ] || fail "headers beside weft/: $(ls "$scratch/weft-dev/usr/include")"
# Every library that the CMake package names comes with weft-dev, but for RocksDB's: no job program links that.
for library in $(grep -oE '/usr/lib/[^;"<>]*\.so' "$scratch"/weft-dev/usr/lib/cmake/weft/weftTargets*.cmake -h | grep -v rocksdb | sort -u); do
  owner=$(dpkg -S "$library" | cut -d: -f1)
  grep -qE "[ ,]$owner(,|\$| )" "$scratch/weft-dev.control" || fail "weft-dev does not depend on $owner, which has $library"
done
both=$(cd "$scratch/weft" && find . -type f | while read -r file; do [ ! -e "$scratch/weft-dev/$file" ] || echo "$file"; done)
[ -z "$both" ] || fail "both packages have $both"
# The options of the units are options of the program.
for service in master worker; do
  unit=$scratch/weft/usr/lib/systemd/system/weft-$service.service
  "$scratch/weft/usr/bin/weft" "$service" --help > "$scratch/help"
  for option in $(sed -n 's/^Environment="[A-Z_]*=\(.*\)"$/\1/p' "$unit" | grep -o -- '--[a-z-]*'); do
    grep -qE -- "^  $option( |\$)" "$scratch/help" || fail "weft $service has no $option, which its unit gives"
  done
  # systemd passes over what it does not know, and says so.
  sed "s|/usr/bin/weft|$scratch/weft/usr/bin/weft|" "$unit" > "$scratch/weft-$service.service"
  if command -v systemd-analyze > /dev/null; then
    systemd-analyze verify --man=no "$scratch/weft-$service.service" > "$scratch/verified" 2>&1 && ! grep "^$scratch\|^weft-" "$scratch/verified" ||
      fail "the unit of weft-$service: $(cat "$scratch/verified")"
  fi
done
[ -n "$archive" ] || exit 0

mkdir "$scratch/bare"
tar -C "$scratch/bare" -xf "$archive"
cp "$scratch"/weft*.deb "$scratch/bare/tmp"
[ ! -e /etc/resolv.conf ] || cp /etc/resolv.conf "$scratch/bare/etc/resolv.conf"
# README's section, as it is printed.
mkdir "$scratch/bare/root/mycount"
section() { # LANGUAGE NUMBER
  sed -n '/^## A job of your own/,/^## Features/p' "$root/README.md" |
    awk -v begin="^\`\`\`$1\$" -v number="$2" '/^```$/ { inside = 0 } inside; $0 ~ begin && ++seen >= number && (number > 1 || seen == 1) { inside = 1 }'
}
section cpp 1 > "$scratch/bare/root/mycount/mycount.cpp"
section cmake 1 > "$scratch/bare/root/mycount/CMakeLists.txt"
section sh 2 > "$scratch/bare/root/mycount/commands" # the first block builds weft itself
cat > "$scratch/bare/root/try" << 'END'
set -e
export DEBIAN_FRONTEND=noninteractive HOME=/root PATH=/usr/sbin:/usr/bin:/sbin:/bin
apt-get update -q
apt-get install -y -q --no-install-recommends /tmp/weft_*.deb
weft --version
getent passwd weft > /dev/null
apt-get install -y -q --no-install-recommends /tmp/weft-dev_*.deb
END
cat > "$scratch/bare/root/run" << 'END'
set -e
export HOME=/root PATH=/usr/sbin:/usr/bin:/sbin:/bin
cd /root/mycount
bash -e commands
for other in 2 4; do
  cat counts/part-* | sort > words
  cat counts$other/part-* | sort | cmp words -
done
END
inside() { unshare --mount --pid --fork --kill-child "$@"; }
inside bash -ec 'mount -t proc proc "$1/proc"; mount --bind /dev "$1/dev"; chroot "$1" bash /root/try' - "$scratch/bare" > "$scratch/log" 2>&1 ||
  fail "the packages cannot be installed: $(tail -n 5 "$scratch/log")"
inside --net bash -ec 'ip link set lo up; mount -t proc proc "$1/proc"; mount --bind /dev "$1/dev"; chroot "$1" bash /root/run' - "$scratch/bare" \
  > "$scratch/log" 2>&1 || fail "README's job: $(tail -n 10 "$scratch/log")"
grep -q 'mycount .*finished' "$scratch/log" || fail "weft job list does not show the job: $(tail -n 10 "$scratch/log")"
echo "installed, and README's job built and run, in bare Debian"
