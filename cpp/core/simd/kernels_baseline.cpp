#define SPARSECRF_CLONE baseline
#define SPARSECRF_LANES 2
#define SPARSECRF_TILE 4
#define SPARSECRF_RANK_TILE 2
#include "kernels.inl"
