#!/bin/sh
# Kernels of backend `mlir`, compiled beforehand for machines without MLIR's bindings.
#
#   scripts/build_gpu_images.sh [DIR]     default: build/gpu_images
#
# Needs no GPU. Compiles every kernel of the conformance suite, for sm_80 and sm_90 (or the chips in
# $CHIPS). $PYTHON is used if it has mytriton-mlir with its bindings and mytriton-testkit; otherwise a
# virtual environment with them is made in build/gpu_images_venv. Where DIR is carried to,
# MYTRITON_MLIR_IMAGES=DIR makes `mlir` take its kernels from there.
set -eu
cd "$(dirname "$0")/.."
DIR=${1:-build/gpu_images}
PYTHON=${PYTHON:-python3}
CHIPS=${CHIPS:-sm_80 sm_90}

if ! "$PYTHON" -c "import mlir.ir, mytriton_mlir, mytriton_testkit" 2>/dev/null; then
    VENV=build/gpu_images_venv
    [ -x "$VENV/bin/python" ] || "$PYTHON" -m venv "$VENV"
    PYTHON=$VENV/bin/python
    # Editable: the images are those of the tree as it is, whenever the environment was made.
    "$PYTHON" -m pip install -q -e packages/mytriton-core -e packages/mytriton-testkit \
        -e "packages/mytriton-mlir[bindings]"
fi

mkdir -p "$DIR"
MYTRITON_MLIR_IMAGES=$(cd "$DIR" && pwd)
export MYTRITON_MLIR_IMAGES
STATUS=0
for chip in $CHIPS; do
    # A case that does not compile has no image: the others are of use all the same.
    MYTRITON_MLIR_CHIP=$chip "$PYTHON" -m mytriton_testkit mlir --stage compile --level extended -q -j 2 ||
        STATUS=$?
done
echo "images in $DIR: $(find "$DIR" -name '*.ptx' | wc -l)"
exit $STATUS
