#!/bin/sh
# check_links.sh: fails if a page links to a file, or shows an image, that the repository does not have.
cd "$(dirname "$0")/.." || exit 1
targets() {
  grep -oE '\]\([^) ]+\)|(src|href)="[^"]+"' "$1" | sed -E 's/^\]\(//; s/\)$//; s/^(src|href)="//; s/"$//; s/#.*//' |
    grep -vE '^(https?:|mailto:|$)'
}
missing=$(git ls-files '*.md' | while read -r page; do
  targets "$page" | while read -r target; do
    git ls-files --error-unmatch "$(dirname "$page")/$target" >/dev/null 2>&1 || echo "$page: $target is missing"
  done
done | sort -u)
[ -z "$missing" ] || { echo "$missing"; exit 1; }
echo "all links lead to files"
