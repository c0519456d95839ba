#define SPARSECRF_CLONE neon
#define SPARSECRF_LANES 2
#define SPARSECRF_TILE 8
#define SPARSECRF_RANK_TILE 4
#include "kernels.inl"
