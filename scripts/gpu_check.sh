#!/bin/sh
# Everything that takes a GPU, in one go and one JSON file.
#
#   scripts/gpu_check.sh prepare          on a machine with a package index: fills build/gpu_site and,
#                                         by build_gpu_images.sh, build/gpu_images (or $GPU_IMAGES)
#   scripts/gpu_check.sh [run] [OUT.json] on the machine with the GPU; needs no index. It needs Python
#                                         3.12 (or $PYTHON) with NumPy and CuPy; PyTorch and Triton
#                                         are compared with when they are there
#
# Conformance at stage execute of `cuda` in both mappings and of `mlir`, whose kernels come from the
# images where its bindings are not installed; then benchmarks/gpu.py. Under 6 minutes.
set -eu
cd "$(dirname "$0")/.."
PYTHON=${PYTHON:-python3}
SITE=build/gpu_site
IMAGES=${GPU_IMAGES:-build/gpu_images}

if [ "${1:-run}" = prepare ]; then
    VERSION=${GPU_PYTHON_VERSION:-3.12}
    rm -rf "$SITE"
    "$PYTHON" -m pip install -q --target "$SITE" --no-deps \
        packages/mytriton-core packages/mytriton-testkit packages/mytriton-cuda packages/mytriton-mlir
    "$PYTHON" -m pip install -q --target "$SITE" --upgrade --no-deps --only-binary :all: \
        --python-version "$VERSION" --implementation cp \
        pluggy packaging filelock platformdirs pytest iniconfig pygments hypothesis sortedcontainers \
        attrs rich markdown-it-py mdurl ml_dtypes
    PYTHON=$PYTHON scripts/build_gpu_images.sh "$IMAGES" || echo "not every kernel has an image" >&2
    echo "prepared $SITE for Python $VERSION, and $IMAGES"
    exit 0
fi

[ "${1:-}" = run ] && shift
OUT=${1:-gpu_check.json}
WORK=$(mktemp -d)
trap 'rm -rf "$WORK"' EXIT
# NumPy is not in there: the machine has the one its CuPy was built for.
export PYTHONPATH="${PYTHONPATH:+$PYTHONPATH:}$PWD/$SITE"
export MYTRITON_REQUIRE_CUDA=1
[ ! -d "$IMAGES" ] || export MYTRITON_MLIR_IMAGES="$(cd "$IMAGES" && pwd)"
SUITE="$PYTHON -m mytriton_testkit --stage execute -q -j 4"
STATUS=0
"$PYTHON" -m mytriton.cli info || true
timeout 120 $SUITE --json "$WORK/element.json" cuda || STATUS=1
MYTRITON_CUDA_MAPPING=blocked timeout 120 $SUITE --json "$WORK/blocked.json" \
    --profile "$SITE/mytriton_cuda/blocked-conformance.toml" cuda || STATUS=1
timeout 120 $SUITE --json "$WORK/mlir.json" mlir || STATUS=1
timeout 100 "$PYTHON" benchmarks/gpu.py --json "$WORK/benchmark.json" || STATUS=1
"$PYTHON" - "$WORK" "$OUT" <<'PY'
import json, pathlib, sys
work, out = map(pathlib.Path, sys.argv[1:])
parts = {p.stem: json.loads(p.read_text()) for p in sorted(work.glob("*.json"))}
out.write_text(json.dumps(parts, indent=1) + "\n")
print(f"wrote {out}: {', '.join(parts) or 'nothing'}")
PY
exit $STATUS
