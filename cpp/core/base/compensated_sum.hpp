// A sum of many terms whose error does not grow with their number (Kahan 1965).
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
    double sum_ = 0.0, carry_ = 0.0;  // carry: what the last addition rounded up
};

}  // namespace sparsecrf
