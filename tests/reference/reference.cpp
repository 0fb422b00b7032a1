#include "tests/reference/reference.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <sstream>
#include <utility>

namespace weft::reference {

std::vector<std::string> lines(const std::string& text) {
  std::vector<std::string> result;
  std::size_t start = 0;
  while (start < text.size()) {
    std::size_t end = text.find('\n', start);
    if (end == std::string::npos) end = text.size();
    std::string line = text.substr(start, end - start);
    if (!line.empty() && line.back() == '\r') line.pop_back();
    result.push_back(std::move(line));
    start = end + 1;
  }
  return result;
}

std::vector<std::string> words(const std::string& line) {
  std::vector<std::string> result;
  std::string word;
  for (const char c : line) {
    const bool space = c == ' ' || c == '\t' || c == '\n' || c == '\v' || c == '\f' || c == '\r';
    if (!space) word += c;
    if (space && !word.empty()) result.push_back(std::exchange(word, {}));
  }
  if (!word.empty()) result.push_back(word);
  return result;
}

std::vector<std::string> wordcount(const std::vector<std::string>& texts) {
  std::map<std::string, unsigned long> counts;
  for (const std::string& text : texts)
    for (const std::string& line : lines(text))
      for (const std::string& word : words(line)) ++counts[word];
  std::vector<std::string> result;
  for (const auto& [word, count] : counts) result.push_back(word + "\t" + std::to_string(count));
  std::sort(result.begin(), result.end());
  return result;
}

std::vector<std::string> grep_fixed(const std::vector<std::string>& texts, const std::string& pattern) {
  std::vector<std::string> result;
  for (const std::string& text : texts)
    for (const std::string& line : lines(text))
      if (line.find(pattern) != std::string::npos) result.push_back(line);
  return result;
}

std::vector<std::string> inverted_index(const std::vector<std::string>& names, const std::vector<std::string>& texts) {
  std::map<std::string, std::set<std::string>> index;
  for (std::size_t i = 0; i < texts.size(); ++i)
    for (const std::string& line : lines(texts[i]))
      for (const std::string& word : words(line)) index[word].insert(names[i]);
  std::vector<std::string> result;
  for (const auto& [word, files] : index) {
    std::string line = word;
    char separator = '\t';
    for (const std::string& file : files) {
      line += separator + file;
      separator = ' ';
    }
    result.push_back(line);
  }
  std::sort(result.begin(), result.end());
  return result;
}

namespace {

using Rows = std::vector<std::pair<std::string, std::string>>;

Rows rows(const std::string& text) {
  Rows result;
  for (const std::string& line : lines(text)) {
    const auto tab = line.find('\t');
    if (tab == std::string::npos)
      result.emplace_back(line, "");
    else
      result.emplace_back(line.substr(0, tab), line.substr(tab + 1));
  }
  return result;
}

}  // namespace

std::vector<std::string> join(const std::string& left, const std::string& right, const std::string& how) {
  const Rows left_rows = rows(left), right_rows = rows(right);
  std::vector<std::string> result;
  for (const auto& [key, value] : left_rows) {
    bool matched = false;
    for (const auto& [other_key, other] : right_rows) {
      if (other_key != key) continue;
      matched = true;
      if (how != "semi" && how != "anti") result.push_back(key + "\t" + value + "\t" + other);
    }
    if (matched && how == "semi") result.push_back(key + "\t" + value + "\t");
    if (!matched && how == "anti") result.push_back(key + "\t" + value + "\t");
    if (!matched && (how == "left" || how == "full")) result.push_back(key + "\t" + value + "\t");
  }
  if (how == "right" || how == "full") {
    for (const auto& [key, value] : right_rows) {
      const bool matched = std::any_of(left_rows.begin(), left_rows.end(), [&](const auto& row) { return row.first == key; });
      if (!matched) result.push_back(key + "\t\t" + value);
    }
  }
  std::sort(result.begin(), result.end());
  return result;
}

std::vector<std::string> join_count(const std::string& left, const std::string& right) {
  std::map<std::string, unsigned long> counts;
  for (const auto& [key, value] : rows(left))
    for (const auto& [other_key, other] : rows(right))
      if (key == other_key) ++counts[key];
  std::vector<std::string> result;
  for (const auto& [key, count] : counts) result.push_back(key + "\t" + std::to_string(count));
  std::sort(result.begin(), result.end());
  return result;
}

std::vector<std::string> ranked_index(const std::vector<std::string>& names, const std::vector<std::string>& texts) {
  std::map<std::string, std::map<std::string, long>> counts;
  for (std::size_t i = 0; i < texts.size(); ++i)
    for (const std::string& line : lines(texts[i]))
      for (const std::string& word : words(line)) --counts[word][names[i]];  // negative: the largest come first
  std::vector<std::string> result;
  for (const auto& [word, files] : counts) {
    std::set<std::pair<long, std::string>> ranked;
    for (const auto& [name, count] : files) ranked.emplace(count, name);
    std::string line = word;
    for (const auto& [count, name] : ranked) line += "\t" + std::to_string(-count) + " " + name;
    result.push_back(line);
  }
  std::sort(result.begin(), result.end());
  return result;
}

std::vector<std::string> self_join(const std::string& text) {
  const std::vector<std::string> all = lines(text);
  std::set<std::string> result;
  for (const std::string& a : all) {
    for (const std::string& b : all) {
      const auto split = a.rfind('\t') + 1;
      if (b.rfind('\t') + 1 == split && a.compare(0, split, b, 0, split) == 0 && a < b) result.insert(a + "\t" + b.substr(split));
    }
  }
  return {result.begin(), result.end()};
}

namespace {

std::vector<std::string> cells(const std::string& line) {
  std::vector<std::string> result(1);
  for (const char c : line) {
    if (c == '\t')
      result.emplace_back();
    else
      result.back() += c;
  }
  return result;
}

std::map<std::string, std::string> dictionary(const std::string& text) {
  std::map<std::string, std::string> result;
  for (const auto& [key, value] : rows(text)) result[key] = value;
  return result;
}

}  // namespace

std::vector<std::string> large_returns(const Returns& of) {
  std::map<std::string, std::map<std::string, long>> totals;  // by store and customer
  for (const std::string& line : lines(of.returns)) {
    const auto row = cells(line);
    if (row[0].substr(0, 4) == of.year) totals[row[1]][row[2]] += std::stol(row[3]);
  }
  const auto states = dictionary(of.stores), names = dictionary(of.customers);
  std::multimap<std::pair<long, std::vector<std::string>>, std::string> result;
  for (const auto& [store, customers] : totals) {
    if (!states.contains(store) || states.at(store) != of.state) continue;
    double sum = 0;
    for (const auto& [customer, total] : customers) sum += static_cast<double>(total);
    for (const auto& [customer, total] : customers) {
      if (static_cast<double>(total) * static_cast<double>(customers.size()) * 5 <= sum * 6 || !names.contains(customer)) continue;
      result.emplace(std::pair(total, std::vector{store, customer}),
                     std::to_string(total) + "\t" + store + "\t" + customer + "\t" + names.at(customer));
    }
  }
  std::vector<std::string> largest;
  for (auto row = result.rbegin(); row != result.rend() && largest.size() < of.limit; ++row) largest.push_back(row->second);
  return largest;
}

std::vector<std::string> revenue(const std::string& orders, const std::string& customers, const std::string& order_lines,
                                 const std::string& products) {
  const auto customer_of = dictionary(orders), nation_of = dictionary(customers), category_of = dictionary(products);
  std::map<std::string, long> sums;
  for (const std::string& line : lines(order_lines)) {
    const auto row = cells(line);
    if (!customer_of.contains(row[0]) || !nation_of.contains(customer_of.at(row[0])) || !category_of.contains(row[1])) continue;
    sums[nation_of.at(customer_of.at(row[0])) + "\t" + category_of.at(row[1])] += std::stol(row[2]);
  }
  std::vector<std::string> result;
  for (const auto& [both, sum] : sums) result.push_back(both + "\t" + std::to_string(sum));
  std::sort(result.begin(), result.end());
  return result;
}

std::vector<std::string> sort_lines(const std::string& text) {
  std::vector<std::string> all = lines(text);
  std::stable_sort(all.begin(), all.end(), [](const std::string& a, const std::string& b) { return cells(a)[0] < cells(b)[0]; });
  return all;
}

std::vector<std::string> combine_lines(const std::string& text) {
  std::map<std::string, std::pair<std::size_t, std::size_t>> sums;
  for (const std::string& line : lines(text)) {
    auto& [count, bytes] = sums[cells(line)[0]];
    ++count;
    bytes += line.size();
  }
  std::vector<std::string> result;
  for (const auto& [key, sum] : sums) result.push_back(key + "\t" + std::to_string(sum.first) + "\t" + std::to_string(sum.second));
  std::sort(result.begin(), result.end());
  return result;
}

namespace {

std::uint32_t hash(std::uint32_t x) {
  x ^= x >> 16;
  x *= 2146121005u;
  x ^= x >> 15;
  x *= 2221713035u;
  x ^= x >> 16;
  return x;
}

}  // namespace

std::uint64_t points_inside(std::uint64_t points, std::uint32_t seed) {
  std::uint64_t inside = 0;
  for (std::uint64_t i = 0; i < points; ++i) {
    const std::uint32_t block = hash(hash(seed) + static_cast<std::uint32_t>(i / 65536));
    const std::uint32_t point = hash(block + static_cast<std::uint32_t>(i % 65536) * 2654435769u);
    const double x = (point % 16384 + 0.5) / 16384, y = (point / 65536 % 16384 + 0.5) / 16384;
    if (x * x + y * y < 1) ++inside;
  }
  return inside;
}

std::string kmeans(std::uint64_t points, std::uint32_t clusters, int iterations, std::uint32_t seed) {
  using Vector = std::vector<double>;  // whole numbers, far below 2^53
  std::vector<Vector> all;
  for (std::uint32_t i = 0; i < points || i < clusters; ++i) {
    const std::uint32_t place = hash(hash(seed) ^ (i % clusters)), around = hash(place + i);
    Vector point;
    for (std::uint32_t d = 0; d < 8; ++d) point.push_back(hash(place + d) % 14336 + hash(around + d) % 2048);
    all.push_back(point);
  }
  std::vector<Vector> centres(all.begin(), all.begin() + clusters);
  all.resize(points);
  std::vector<std::uint64_t> sizes;
  for (bool moved = true; moved && iterations > 0; --iterations) {
    sizes.assign(clusters, 0);
    std::vector<Vector> sums(clusters, Vector(8, 0));
    for (const Vector& point : all) {
      Vector squares(clusters, 0);
      for (std::uint32_t c = 0; c < clusters; ++c)
        for (int d = 0; d < 8; ++d) squares[c] += std::pow(point[d] - centres[c][d], 2);
      const auto best = std::min_element(squares.begin(), squares.end()) - squares.begin();
      ++sizes[best];
      for (int d = 0; d < 8; ++d) sums[best][d] += point[d];
    }
    moved = false;
    for (std::uint32_t c = 0; c < clusters; ++c)
      for (int d = 0; d < 8 && sizes[c] > 0; ++d) {
        const double mean = std::floor(sums[c][d] / static_cast<double>(sizes[c]));
        moved = moved || mean != centres[c][d];
        centres[c][d] = mean;
      }
  }
  std::ostringstream lines;
  for (std::uint32_t c = 0; c < clusters; ++c) {
    if (sizes[c] == 0) continue;
    lines << c << ' ' << sizes[c];
    for (const double coordinate : centres[c]) lines << ' ' << static_cast<int>(coordinate);
    lines << '\n';
  }
  return lines.str();
}

namespace {

/// In GF(2^8) modulo x^8 + x^4 + x^3 + x + 1.
int times(int a, int b) {
  int product = 0;
  for (int bit = 0; bit < 8; ++bit) {
    if ((b >> bit & 1) != 0) product ^= a << bit;
  }
  for (int bit = 14; bit >= 8; --bit) {
    if ((product >> bit & 1) != 0) product ^= 0x11b << (bit - 8);
  }
  return product;
}

int substituted(int byte) {
  int inverse = 0;
  for (int other = 1; other < 256; ++other) {
    if (times(byte, other) == 1) inverse = other;
  }
  int result = 0;
  for (int bit = 0; bit < 8; ++bit) {
    int sum = 0x63 >> bit & 1;
    for (const int turn : {0, 4, 5, 6, 7}) sum ^= inverse >> ((bit + turn) % 8) & 1;
    result |= sum << bit;
  }
  return result;
}

using State = std::vector<int>;  // sixteen bytes, column after column

void add_key(State& state, const std::vector<int>& words, int round) {
  for (std::size_t i = 0; i < 16; ++i) state[i] ^= words[16 * static_cast<std::size_t>(round) + i];
}

void mix_columns(State& state) {
  const State in = state;
  for (std::size_t column = 0; column < 16; column += 4) {
    for (std::size_t row = 0; row < 4; ++row) {
      state[column + row] = times(2, in[column + row]) ^ times(3, in[column + (row + 1) % 4]) ^ in[column + (row + 2) % 4] ^
                            in[column + (row + 3) % 4];
    }
  }
}

}  // namespace

std::string encrypt(const std::string& text, const std::string& key) {
  std::vector<int> box;
  for (int byte = 0; byte < 256; ++byte) box.push_back(substituted(byte));
  const auto boxed = [&](int byte) { return box[static_cast<std::size_t>(byte)]; };
  std::vector<int> schedule;
  for (const char c : key) schedule.push_back(static_cast<unsigned char>(c));
  for (std::size_t word = 4; word < 44; ++word) {
    std::vector<int> last(schedule.end() - 4, schedule.end());
    if (word % 4 == 0) {
      std::rotate(last.begin(), last.begin() + 1, last.end());
      for (int& byte : last) byte = boxed(byte);
      int constant = 1;
      for (std::size_t i = 4; i < word; i += 4) constant = times(constant, 2);
      last[0] ^= constant;
    }
    for (std::size_t i = 0; i < 4; ++i) schedule.push_back(schedule[4 * word - 16 + i] ^ last[i]);
  }
  std::string result;
  for (std::size_t at = 0; at < text.size(); at += 16) {
    State state;
    for (std::size_t i = 0; i < 16; ++i) state.push_back(static_cast<unsigned char>(text[at + i]));
    add_key(state, schedule, 0);
    for (int round = 1; round <= 10; ++round) {
      const State in = state;
      for (std::size_t i = 0; i < 16; ++i) state[i] = boxed(in[(i + 4 * (i % 4)) % 16]);
      if (round < 10) mix_columns(state);
      add_key(state, schedule, round);
    }
    for (const int byte : state) result += static_cast<char>(byte);
  }
  return result;
}

std::string terasort(const std::string& records) {
  std::vector<std::string> all;
  for (std::size_t i = 0; i < records.size(); i += 100) all.push_back(records.substr(i, 100));
  std::stable_sort(all.begin(), all.end(),
                   [](const std::string& a, const std::string& b) { return a.compare(0, 10, b, 0, 10) < 0; });
  std::string result;
  for (const std::string& record : all) result += record;
  return result;
}

Ranks pagerank(const std::string& edges, int iterations, double damping) {
  std::map<std::string, std::vector<std::string>> links;
  for (const auto& [from, to] : rows(edges)) {
    links[from].push_back(to);
    links[to];
  }
  std::map<std::string, double> ranks;
  for (const auto& [node, targets] : links) ranks[node] = 1;
  for (int i = 0; i < iterations; ++i) {
    std::map<std::string, double> sums;
    for (const auto& [node, targets] : links) {
      sums[node];
      for (const std::string& target : targets) sums[target] += ranks[node] / static_cast<double>(targets.size());
    }
    for (auto& [node, rank] : ranks) rank = 1 - damping + damping * sums[node];
  }
  Ranks result;
  for (const auto& [node, rank] : ranks) {
    result.nodes.push_back(node);
    result.ranks.push_back(rank);
  }
  return result;
}

}  // namespace weft::reference
