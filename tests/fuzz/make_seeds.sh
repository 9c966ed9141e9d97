#!/bin/sh
# make_seeds.sh FOLDER: good inputs for each harness, in FOLDER/TARGET, from the fixtures and the recipes of the repository.
cd "$(dirname "$0")/../.." || exit 1
to=$1
for target in safetensors npy pth tfjs image recipe sweep cifar archive http tensor_json; do mkdir -p "$to/$target"; done
cp tests/fixtures/foreign.safetensors "$to/safetensors"
cp tests/fixtures/pth/* "$to/pth"
for file in tests/fixtures/images/*; do
  case $file in *.expected.png) ;; *) cp "$file" "$to/image" ;; esac
done
for file in tests/fixtures/*_expected.npz; do
  cp "$file" "$to/archive"
  name=$(basename "$file" .npz)
  unzip -Z1 "$file" | while read -r array; do
    unzip -p "$file" "$array" > "$to/npy/$name-$(echo "$array" | tr -c 'A-Za-z0-9\n' _)"
  done
done
for file in recipes/*.yaml; do
  if grep -q -E '^(grid|list|one_at_a_time):' "$file"; then cp "$file" "$to/sweep"; else cp "$file" "$to/recipe"; fi
done
for file in recipes/*/*.yaml; do
  grep -q -E '^(grid|list|one_at_a_time):' "$file" && cp "$file" "$to/sweep/$(echo "$file" | tr / _)"
done
for kind in cz cj cJ c; do tar "${kind}f" "$to/archive/readme.tar.$kind" -C "$to" recipe; done
{ printf t; head -c 6146 /dev/zero; } > "$to/cifar/two-records"
{ printf h; head -c 3074 /dev/zero; } > "$to/cifar/record-of-100"
{ printf 'i\000\000\010\003\000\000\000\002\000\000\000\003\000\000\000\003'; head -c 18 /dev/zero; } > "$to/cifar/idx"
exit 0
