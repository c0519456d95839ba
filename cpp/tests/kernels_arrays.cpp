// The kernels in the version for compilers without vector extensions (simd/vec.hpp), built with any compiler.
#define SPARSECRF_ARRAYS
#define SPARSECRF_CLONE arrays
#define SPARSECRF_LANES 4
#define SPARSECRF_TILE 4
#define SPARSECRF_RANK_TILE 2
#include "core/simd/kernels.inl"
