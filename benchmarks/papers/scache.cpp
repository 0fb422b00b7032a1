#include "benchmarks/papers/experiment.hpp"
namespace weft::papers {
std::vector<Experiment> scache_experiments() { return {}; }
}  // namespace weft::papers
