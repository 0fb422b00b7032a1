// Writes text for the WordCount benchmarks: words drawn from a Zipf distribution over a vocabulary, about ten to a line.
//
//   zipf_text BYTES FILE [VOCABULARY [EXPONENT [SEED]]]
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <random>
#include <string>
#include <vector>

namespace {

/// Draws ranks by binary search in the cumulative weights, sped up by a table over the top bits.
class Zipf {
 public:
  Zipf(std::size_t words, double exponent) : cumulative_(words) {
    double sum = 0;
    for (std::size_t i = 0; i < words; ++i) cumulative_[i] = sum += 1 / std::pow(static_cast<double>(i + 1), exponent);
    for (double& value : cumulative_) value /= sum;
    for (std::size_t i = 0; i <= kTable; ++i) table_.push_back(rank_of(static_cast<double>(i) / kTable, 0, words));
  }
  std::size_t draw(double uniform) const {
    const auto slot = static_cast<std::size_t>(uniform * kTable);
    return rank_of(uniform, table_[slot], table_[slot + 1] + 1);
  }

 private:
  static constexpr std::size_t kTable = 1 << 16;
  std::size_t rank_of(double uniform, std::size_t from, std::size_t to) const {
    const auto begin = cumulative_.begin();
    const auto end = begin + static_cast<std::ptrdiff_t>(std::min(to, cumulative_.size()));
    const auto found = std::lower_bound(begin + static_cast<std::ptrdiff_t>(from), end, uniform);
    return std::min<std::size_t>(static_cast<std::size_t>(found - begin), cumulative_.size() - 1);
  }
  std::vector<double> cumulative_;
  std::vector<std::size_t> table_;
};

/// A word for each rank: letters from a mixed number, so that frequent words are not all alike. Frequent ones are shorter.
std::string word_of(std::size_t rank) {
  std::uint64_t mixed = (rank + 1) * 0x9E3779B97F4A7C15ULL;
  std::string word;
  std::size_t rest = rank;
  do {
    word += static_cast<char>('a' + (rest + (mixed & 15)) % 26);
    mixed >>= 4;
    rest /= 26;
  } while (rest > 0 || word.size() < 3);
  return word + std::to_string(rank % 10);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 3) {
    std::fprintf(stderr, "usage: zipf_text BYTES FILE [VOCABULARY [EXPONENT [SEED]]]\n");
    return 2;
  }
  const std::uint64_t bytes = std::strtoull(argv[1], nullptr, 10);
  const std::size_t vocabulary = argc > 3 ? std::strtoull(argv[3], nullptr, 10) : 1'000'000;
  const double exponent = argc > 4 ? std::strtod(argv[4], nullptr) : 1.0;
  std::mt19937_64 random(argc > 5 ? std::strtoull(argv[5], nullptr, 10) : 1);

  const Zipf zipf(vocabulary, exponent);
  std::vector<std::string> words;
  for (std::size_t i = 0; i < vocabulary; ++i) words.push_back(word_of(i));
  std::FILE* file = std::fopen(argv[2], "wb");
  if (file == nullptr) {
    std::perror(argv[2]);
    return 1;
  }
  std::string buffer;
  std::uint64_t written = 0;
  for (std::uint64_t n = 1; written + buffer.size() < bytes; ++n) {
    buffer += words[zipf.draw(static_cast<double>(random() >> 11) * 0x1p-53)];
    buffer += n % 10 == 0 ? '\n' : ' ';
    if (buffer.size() > (1U << 20)) {
      written += std::fwrite(buffer.data(), 1, buffer.size(), file);
      buffer.clear();
    }
  }
  std::fwrite(buffer.data(), 1, buffer.size(), file);
  return std::fclose(file) == 0 ? 0 : 1;
}
