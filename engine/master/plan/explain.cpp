#include <algorithm>
#include <map>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/counted.hpp"
#include "engine/master/plan/plan.hpp"

namespace weft::plan {

namespace {

std::string output_of(const Stage& stage) {
  if (stage.output == OutputKind::result) return "result for the driver";
  return fmt::format("shuffle {} ({})", stage.id.value(), counted(stage.partitions, "partition"));
}

/// Which of the files are compressed, and how they are read: "    in   2 files of gzip, each read by one task".
void append_compressed(std::string& text, const std::vector<storage::SplitGroup>& groups) {
  std::map<storage::Format, std::map<std::string_view, std::uint64_t>> splits;
  for (const auto& group : groups)
    for (const auto& split : group)
      if (is_compressed(split.format)) ++splits[split.format][split.path];
  for (const auto& [format, files] : splits) {
    std::uint64_t whole = 0, pieces = 0;
    for (const auto& [path, count] : files) {
      if (count == 1) {
        ++whole;
      } else {
        pieces += count;
      }
    }
    const std::string of = fmt::format(" compressed by {}, ", storage::name_of(format));
    if (whole != 0) text += fmt::format("    in   {}{}{}read by one task\n", counted(whole, "file"), of, whole == 1 ? "" : "each ");
    if (pieces != 0) text += fmt::format("    in   {}{}in {} splits\n", counted(files.size() - whole, "file"), of, pieces);
  }
}

void append_inputs(std::string& text, const Branch& branch) {
  if (branch.kind == BranchKind::splits) {
    std::uint64_t bytes = 0, pieces = 0;
    for (const auto& group : branch.splits) {
      for (const auto& split : group) bytes += split.length, ++pieces;
    }
    text += branch.splits.empty() ? fmt::format("    in   {} generated\n", counted(branch.tasks, "partition"))
                                  : fmt::format("    in   {}, {} bytes\n", counted(pieces, "split"), bytes);
    append_compressed(text, branch.splits);
  }
  for (std::size_t i = 0; i < branch.partitioned.size(); ++i) {
    const bool splittable = std::find(branch.splittable.begin(), branch.splittable.end(), i) != branch.splittable.end();
    text += fmt::format("    in   shuffle {}{}{}\n", branch.partitioned[i].value(), splittable ? " (hot partitions are split)" : "",
                        branch.mergeable ? " (small partitions are merged)" : "");
  }
  for (ShuffleId input : branch.broadcast) text += fmt::format("    in   shuffle {} (broadcast)\n", input.value());
}

/// For a double-quoted Graphviz string.
std::string escaped(std::string_view text) {
  std::string out;
  for (char c : text) {
    if (c == '"' || c == '\\') out += '\\';
    out += c == '\n' ? ' ' : c;
  }
  return out;
}

}  // namespace

std::string explain_text(const std::vector<const Stage*>& stages) {
  std::string text;
  for (const Stage* stage : stages) {
    text += fmt::format("stage {}: {} ({})\n", stage->id.value(), stage->name, counted(stage->task_count(), "task"));
    for (const Branch& branch : stage->branches) append_inputs(text, branch);
    if (!stage->operators.empty()) text += fmt::format("    run  {}\n", fmt::join(stage->operators, " | "));
    text += fmt::format("    out  {}{}\n", output_of(*stage),
                        stage->indeterminate ? "; when a part of it is lost, all that reads it runs again" : "");
  }
  return text;
}

std::string explain_dot(const std::vector<const Stage*>& stages) {
  std::string text = "digraph plan {\n  rankdir=TB;\n  node [shape=box, fontname=\"sans-serif\"];\n";
  for (const Stage* stage : stages) {
    std::string label = fmt::format("stage {}: {}", stage->id.value(), escaped(stage->name));
    for (const std::string& name : stage->operators) label += "\\n" + escaped(name);
    label += "\\n" + counted(stage->task_count(), "task");
    text += fmt::format("  s{} [label=\"{}\"{}];\n", stage->id.value(), label,
                        stage->output == OutputKind::result ? ", style=bold" : "");
    for (const Branch& branch : stage->branches) {
      for (ShuffleId input : branch.partitioned) text += fmt::format("  s{} -> s{};\n", input.value(), stage->id.value());
      for (ShuffleId input : branch.broadcast) {
        text += fmt::format("  s{} -> s{} [style=dashed, label=\"broadcast\"];\n", input.value(), stage->id.value());
      }
    }
  }
  return text + "}\n";
}

}  // namespace weft::plan
