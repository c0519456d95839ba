#define SPARSECRF_CLONE avx512
#define SPARSECRF_LANES 8
#define SPARSECRF_TILE 8
#define SPARSECRF_RANK_TILE 4
#include "kernels.inl"
