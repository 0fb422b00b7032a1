// What the example applications must compute, done the obvious serial way on whole files in memory. Shares no code with weft.
#pragma once

#include <cstdint>
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
/// texts[i] came from names[i]; sorted "word\tcount name\tcount name …", the largest counts first.
std::vector<std::string> ranked_index(const std::vector<std::string>& names, const std::vector<std::string>& texts);
/// Sorted rows of k + 1 items, from rows of k.
std::vector<std::string> self_join(const std::string& text);
struct Returns {
  std::string returns{}, stores{}, customers{};
  std::string year, state;
  std::size_t limit = 0;
};
/// "total\tstore\tcustomer\tname", the largest first.
std::vector<std::string> large_returns(const Returns& of);
/// Sorted "nation\tcategory\tsum".
std::vector<std::string> revenue(const std::string& orders, const std::string& customers, const std::string& order_lines,
                                 const std::string& products);
/// Of lines "key\trest": in the order of the keys, equal ones as they were; sorted "key\trows\tbytes".
std::vector<std::string> sort_lines(const std::string& text);
std::vector<std::string> combine_lines(const std::string& text);
/// How many of the first points (blocks of 65,536) lie in the quarter circle.
std::uint64_t points_inside(std::uint64_t points, std::uint32_t seed);
/// k-means of random points: lines "cluster points coordinate …" after `iterations` iterations, or fewer when no point moves.
std::string kmeans(std::uint64_t points, std::uint32_t clusters, int iterations, std::uint32_t seed);
/// AES-128 of each sixteen bytes, by the formulas of FIPS 197.
std::string encrypt(const std::string& text, const std::string& key);
/// Stable sort of 100-byte records by their first ten bytes.
std::string terasort(const std::string& records);
/// node -> rank, as two parallel vectors sorted by node.
struct Ranks {
  std::vector<std::string> nodes;
  std::vector<double> ranks;
};
Ranks pagerank(const std::string& edges, int iterations, double damping);

}  // namespace weft::reference
