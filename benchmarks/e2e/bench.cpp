// The end-to-end figures, each next to its bound:   bench BIN-DIRECTORY DATA-DIRECTORY [--quick] [--only SECTION]
#include <cstdio>
#include <string>
#include <string_view>

#include "benchmarks/e2e/sections.hpp"

namespace {

using weft::bench::Setting;

struct Section {
  const char* name;
  void (*run)(const Setting&);
  bool in_quick = true;  // without being asked for
};

constexpr Section kSections[] = {
    {"control", weft::bench::control_plane},      {"wordcount", weft::bench::wordcount}, {"source", weft::bench::source_words},
    {"terasort", weft::bench::terasort},          {"join", weft::bench::join},           {"tiny", weft::bench::tiny_files},
    {"partitions", weft::bench::many_partitions}, {"floats", weft::bench::floats},       {"memory", weft::bench::memory, false}};

int usage() {
  std::fprintf(stderr, "usage: bench BIN-DIRECTORY DATA-DIRECTORY [--quick] [--only SECTION]; sections:");
  for (const Section& section : kSections) std::fprintf(stderr, " %s", section.name);
  std::fprintf(stderr, "\n");
  return 2;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 3) return usage();
  Setting setting{argv[1], argv[2], false, ""};
  for (int i = 3; i < argc; ++i) {
    const std::string_view option = argv[i];
    if (option == "--quick") {
      setting.quick = true;
    } else if (option == "--only" && i + 1 < argc) {
      setting.only = argv[++i];
    } else {
      return usage();
    }
  }
  std::setvbuf(stdout, nullptr, _IOLBF, 0);
  bool any = false;
  for (const Section& section : kSections) {
    if (setting.only.empty() ? setting.quick && !section.in_quick : setting.only != section.name) continue;
    any = true;
    section.run(setting);
  }
  return any ? 0 : usage();
}
