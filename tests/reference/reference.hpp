// What the example applications must compute, done the obvious serial way on whole files in memory. Shares no code with weft.
#pragma once

#include <string>
#include <vector>

namespace weft::reference {

/// Lines as text tools see them: split at '\n', a '\r' before it dropped, no line after a final newline.
std::vector<std::string> lines(const std::string& text);
/// Runs of bytes other than space, \t, \n, \v, \f, \r.
std::vector<std::string> words(const std::string& line);

std::vector<std::string> wordcount(const std::vector<std::string>& texts);  // sorted "word\tcount"
std::vector<std::string> grep_fixed(const std::vector<std::string>& texts, const std::string& pattern);
/// texts[i] came from names[i]; sorted "word\tname name …".
std::vector<std::string> inverted_index(const std::vector<std::string>& names, const std::vector<std::string>& texts);
/// how: inner, left, right, full, semi, anti; sorted "key\tleft\tright".
std::vector<std::string> join(const std::string& left, const std::string& right, const std::string& how);
/// Sorted "key\tcount" of an inner join.
std::vector<std::string> join_count(const std::string& left, const std::string& right);
/// Stable sort of 100-byte records by their first ten bytes.
std::string terasort(const std::string& records);
/// node -> rank, as two parallel vectors sorted by node.
struct Ranks {
  std::vector<std::string> nodes;
  std::vector<double> ranks;
};
Ranks pagerank(const std::string& edges, int iterations, double damping);

}  // namespace weft::reference
