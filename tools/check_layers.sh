#!/bin/sh
# Fails if a file includes a layer that lies below its own (docs/architecture.md), if a torch-free layer
# includes torch, or if a public header (docs/library.md) includes one that is not public.
cd "$(dirname "$0")/.." || exit 1
layers="core plot report kernels ops nn models formats data weights infer inspect onnx train studies labs serve cli program"
torch_free="core plot report kernels"
bad=0
allowed=""
for layer in $layers; do
  allowed="$allowed $layer"
  [ -d "vitrine/$layer" ] || continue
  for file in $(find "vitrine/$layer" -name '*.h' -o -name '*.cpp'); do
    for used in $(sed -n 's|^#include "vitrine/\([a-z_]*\)/.*|\1|p' "$file" | sort -u); do
      case " $allowed " in *" $used "*) ;; *)
        echo "$file: layer '$layer' must not use '$used', which lies below it"; bad=1 ;;
      esac
    done
    case " $torch_free " in *" $layer "*)
      if grep -nE '#include <(torch|ATen|c10)/' "$file"; then
        echo "$file: layer '$layer' must stay free of torch"; bad=1
      fi ;;
    esac
  done
done
if grep -lE '#include <(torch|ATen|c10)/' vitrine/cli/*.h; then
  echo "headers of cli must stay free of torch"; bad=1
fi
public=$(sed -n 's/^| `\(vitrine[^`]*\)`.*/\1/p' docs/library.md | sort)
[ -n "$public" ] || { echo "docs/library.md lists no header"; bad=1; }
for used in $(sed -n 's|^#include "\(vitrine/.*\)"|\1|p' $public | sort -u); do
  echo "$public" | grep -qx "$used" || { echo "$used: included by a public header, not in docs/library.md"; bad=1; }
done
exit $bad
