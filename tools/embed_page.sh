#!/bin/sh
# embed_page.sh WEB WORK OUT: builds the page of `vitrine serve` (the folder WEB) in WORK and writes OUT, a source file
# that holds its files. Where npm cannot fetch what it needs, OUT holds none and the program works without the page.
set -e
web=$1 work=$2 out=$3
mkdir -p "$work"
for part in src public index.html package.json package-lock.json tsconfig.json vite.config.ts; do
  rm -rf "${work:?}/$part"
  cp -r "$web/$part" "$work/"
done
rm -rf "$work/dist" "$work/tests"  # the tests of an earlier page
if ! (cd "$work" && npm ci --fetch-timeout=60000 --fetch-retries=1 --no-audit --no-fund) > "$work/build.log" 2>&1; then
  echo "warning: the page of 'vitrine serve' was not built; $work/build.log says why" >&2
elif ! (cd "$work" && npm run build) >> "$work/build.log" 2>&1; then
  echo "error: the page of 'vitrine serve' cannot be built:" >&2
  tail -20 "$work/build.log" >&2
  exit 1
fi
{
  echo '#include "vitrine/serve/page_files.h"'
  i=0
  entries=
  for file in $(cd "$work" && find dist -type f 2>/dev/null | sort); do
    name=vitrine_page_$i
    cat <<END
__asm__(".section .rodata\\n.hidden $name\\n.global $name\\n$name:\\n.incbin \"$work/$file\"\\n"
        ".hidden ${name}_end\\n.global ${name}_end\\n${name}_end:\\n.byte 0\\n.previous\\n");
extern "C" const char $name[], ${name}_end[];
END
    entries="$entries {\"${file#dist}\", {$name, size_t(${name}_end - $name)}},"
    i=$((i + 1))
  done
  cat <<END
namespace vitrine::serve {
const std::map<std::string, std::string_view>& page_files() {
  static const std::map<std::string, std::string_view> files = {$entries};
  return files;
}
}  // namespace vitrine::serve
END
} > "$out"
