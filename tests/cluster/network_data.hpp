// What jobs on a network are given, and what must come of it, by the serial reference.
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <random>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/random.hpp"
#include "tests/reference/reference.hpp"

namespace weft::test {

/// Rows `key(random) + text + newline`, whose text of `width` bytes can be compressed well, a little, and not at all, in turns of
/// some thousand rows: what is shuffled of them has extents of all kinds.
inline std::string mixed_rows(std::size_t rows, unsigned seed, const std::function<std::string(Random&)>& key, std::size_t width) {
  constexpr std::size_t kTurn = 4000;
  Random random(seed);
  std::string text;
  for (std::size_t row = 0; row < rows; ++row) {
    text += key(random);
    const std::size_t letters = row / kTurn % 3 == 0 ? 1 : row / kTurn % 3 == 1 ? 4 : 90;
    for (std::size_t i = 0; i < width; ++i) text += static_cast<char>('!' + random.below(letters));
    text += '\n';
  }
  return text;
}

/// Of 100 bytes each, with random keys of ten, as TeraSort wants them.
inline std::string mixed_records(std::size_t records, unsigned seed) {
  const auto key = [](Random& random) {
    std::string ten;
    while (ten.size() < 10) ten += static_cast<char>('!' + random.below(90));
    return ten;
  };
  return mixed_rows(records, seed, key, 89);
}

/// A table of `user<TAB>text` for a join with users(); some are of nobody.
inline std::string mixed_orders(std::size_t rows, std::size_t users, unsigned seed) {
  const auto key = [users](Random& random) { return "u" + std::to_string(random.below(users + users / 5)) + "\t"; };
  return mixed_rows(rows, seed, key, 90);
}
inline std::string users(std::size_t count) {
  std::string text;
  for (std::size_t i = 0; i < count; ++i) text += "u" + std::to_string(i) + "\tname" + std::to_string(i * 7919 % 100'003) + "\n";
  return text;
}

/// The inner join of users() with orders: "user<TAB>name<TAB>text" in the order of the orders.
inline std::vector<std::string> joined(const std::string& left, const std::string& right) {
  std::unordered_map<std::string, std::string> names;
  for (const std::string& line : reference::lines(left)) names[line.substr(0, line.find('\t'))] = line.substr(line.find('\t') + 1);
  std::vector<std::string> result;
  for (const std::string& line : reference::lines(right)) {
    const std::string user = line.substr(0, line.find('\t'));
    if (const auto name = names.find(user); name != names.end())
      result.push_back(user + "\t" + name->second + line.substr(user.size()));
  }
  return result;
}

/// Words of which few are frequent.
inline std::string some_words(std::size_t words, unsigned seed) {
  Random random(seed);
  std::string text;
  for (std::size_t i = 0; i < words; ++i)
    text += "w" + std::to_string(random.below(1 + random.below(50'000))) + (random.below(11) == 0 ? "\n" : " ");
  return text;
}

/// The same for the same lines in any order.
struct Fingerprint {
  std::size_t lines = 0;
  std::size_t sum = 0;
  bool operator==(const Fingerprint&) const = default;
};
inline Fingerprint fingerprint(const std::vector<std::string>& lines) {
  Fingerprint print{lines.size()};
  for (const std::string& line : lines) print.sum += std::hash<std::string>()(line);
  return print;
}

}  // namespace weft::test
