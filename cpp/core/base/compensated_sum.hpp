// A sum whose rounding error does not grow with the number of terms (Kahan 1965).
#pragma once

namespace sparsecrf {

class CompensatedSum {
   public:
    void add(double x) {
        const double term = x - carry_, next = sum_ + term;
        carry_ = (next - sum_) - term;
        sum_ = next;
    }
    double value() const { return sum_; }

   private:
    double sum_ = 0.0, carry_ = 0.0;  // carry: rounding error of the last addition
};

}  // namespace sparsecrf
