#!/bin/sh
# clang-tidy over all files (or those whose path matches the first argument), two at once. Files that
# include torch are checked as they are compiled, several as one, because torch's header alone takes 15
# seconds. Needs clang-tidy 16 or newer.
set -e
cd "$(dirname "$0")/.."
tidy=$(ls /usr/bin/clang-tidy-[0-9]* 2>/dev/null | sort -V | tail -1)
[ -n "$tidy" ] || { echo "tidy: install a clang-tidy of version 16 or newer" >&2; exit 1; }
build=build-tidy
cmake -S . -B $build -G Ninja -DCMAKE_EXPORT_COMPILE_COMMANDS=ON >/dev/null
ninja -C $build layers/train/event.pb.h >/dev/null  # generated, and included
# libstdc++ 12 makes std::vector constexpr; clang then wants torch's types complete too early.
cat > $build/vector_first.h <<'END'
#include <string>
#undef _GLIBCXX20_CONSTEXPR
#define _GLIBCXX20_CONSTEXPR inline
#include <vector>
#undef _GLIBCXX20_CONSTEXPR
#define _GLIBCXX20_CONSTEXPR constexpr
END
gcc_headers=$(dirname "$(echo '#include <omp.h>' | g++ -x c++ -fopenmp -E - | sed -n 's/.*"\(.*omp.h\)".*/\1/p' | head -1)")
sed -n 's/^  "file": "\(.*\)".*/\1/p' $build/compile_commands.json | grep -v -e cmake_pch -e torch_header |
  grep -e "${1:-.}" |
  xargs -P 2 -I {} sh -c "$tidy -p $build --quiet --header-filter='$PWD/(vitrine|tests|bench|examples)/.*' \
    --extra-arg-before=-include$PWD/$build/vector_first.h --extra-arg=-idirafter$gcc_headers \
    --extra-arg=-Qunused-arguments --extra-arg=-Wno-unknown-warning-option --extra-arg=-ferror-limit=0 {} 2>/dev/null" |
  grep -E "^$PWD/(vitrine|tests|bench|examples)/.*(warning|error):" |
  # In tests: products of small literal sizes, which fit any int; a path as a macro joined to a literal.
  grep -v -E "^$PWD/tests/.*\[(bugprone-implicit-widening-of-multiplication-result|bugprone-suspicious-missing-comma)\]" |
  sort -u > $build/findings.txt || true
cat $build/findings.txt
[ ! -s $build/findings.txt ]
