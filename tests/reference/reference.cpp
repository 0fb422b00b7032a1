#include "tests/reference/reference.hpp"

#include <algorithm>
#include <map>
#include <set>
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
