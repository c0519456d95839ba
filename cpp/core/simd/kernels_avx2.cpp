#define SPARSECRF_CLONE avx2
#define SPARSECRF_LANES 4
#define SPARSECRF_TILE 4
#define SPARSECRF_RANK_TILE 2
#include "kernels.inl"
