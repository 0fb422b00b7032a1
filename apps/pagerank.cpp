// PageRank by a fixed number of iterations, or until the ranks settle. Input: lines "from<TAB>to"; output: "node<TAB>rank".
//
// Every node starts with rank 1; in each iteration a node hands its rank in equal shares to the nodes it links to, and becomes
// 1 - d + d * (sum received). Ranks of nodes without links are not redistributed.
//
//   pagerank --input edges.tsv --output ranks --iterations 10
#include <cmath>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <weft/weft.h>

namespace {

struct Options {
  std::vector<std::string> input;
  std::string output;
  int iterations = 10;
  double damping = 0.85;
  double tolerance = 0;
};

void declare(weft::Arguments& arguments, Options& options) {
  arguments.option("--input", options.input, "File, directory or glob pattern of from<TAB>to lines (repeatable)").required();
  arguments.option("--output", options.output, "Directory for the ranks").required();
  arguments.option("--iterations", options.iterations, "Iterations at most").between(0, 1000).show_default();
  arguments.option("--damping", options.damping, "Damping factor").between(0.0, 1.0).show_default();
  arguments.option("--tolerance", options.tolerance, "Stop when the ranks change by less than this in total").show_default();
}

using Node = std::string;
using Links = std::vector<Node>;
using Ranked = std::pair<Node, double>;

std::pair<Node, Node> parse_edge(std::string_view line) {
  const auto tab = line.find('\t');
  if (tab == std::string_view::npos) throw std::invalid_argument("expected from<TAB>to");
  return {Node(line.substr(0, tab)), Node(line.substr(tab + 1))};
}

void define(weft::Flow& flow, const Options& options) {
  // (node, where it links to); nodes that are only linked to have no links.
  const auto links = flow.read_text(options.input)
                         .flat_map([](std::string_view line) {
                           auto [from, to] = parse_edge(line);
                           return std::vector<std::pair<Node, Links>>{{from, {to}}, {to, {}}};
                         })
                         .reduce_by_key([](Links a, const Links& b) {
                           a.insert(a.end(), b.begin(), b.end());
                           return a;
                         })
                         .cache();

  weft::Dataset<Ranked> ranks = links.map([](const std::pair<Node, Links>& entry) { return Ranked(entry.first, 1.0); });
  const double damping = options.damping;

  for (int i = 0; i < options.iterations; ++i) {
    weft::Dataset<Ranked> next =
        links.join(ranks)
            .flat_map([](const auto& entry) {
              const auto& [node, sides] = entry;
              const auto& [targets, rank] = sides;
              std::vector<Ranked> shares{{node, 0.0}};
              for (const Node& target : targets) shares.emplace_back(target, rank / static_cast<double>(targets.size()));
              return shares;
            })
            .reduce_by_key(std::plus<>())
            .map([damping](const Ranked& sum) { return Ranked(sum.first, 1 - damping + damping * sum.second); })
            .cache();
    if (options.tolerance > 0) {
      const double change = next.join(ranks)
                                .map([](Node, double after, double before) { return std::abs(after - before); })
                                .reduce(0.0, std::plus<>());
      if (change < options.tolerance) i = options.iterations;
    }
    ranks = std::move(next);
  }
  ranks.write_text(options.output);
}

}  // namespace

int main(int argc, char** argv) { return weft::main<Options>(argc, argv, "Ranks the nodes of a graph", declare, define); }
