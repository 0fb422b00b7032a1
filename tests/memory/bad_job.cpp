// A job program for the tests of bad input: one bad thing per mode, the rest is ordinary.
#include <cstdint>
#include <functional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <weft/weft.h>

namespace {

struct Options {
  std::string mode;
  std::string input;
  std::string output;
  std::uint64_t bytes = 0;
  std::uint64_t records = 1000;
};

void declare(weft::Arguments& arguments, Options& options) {
  arguments.option("mode", options.mode, "What to do").required();
  arguments.option("--input", options.input, "A file, for the modes that read");
  arguments.option("--output", options.output, "Where to write").required();
  arguments.option("--bytes", options.bytes, "Size of what is large");
  arguments.option("--records", options.records, "Records in all");
}

using Pair = std::pair<std::string, std::string>;

std::uint64_t scrambled(std::uint64_t i) { return i * 0x9e3779b97f4a7c15ULL; }

/// Is not encoded when it is bad, or not decoded.
struct Fragile {
  std::uint64_t value = 0;
  bool operator==(const Fragile&) const = default;
};

/// Compares by tossing a coin, as it were.
struct Whimsical {
  std::uint64_t value = 0;
  friend bool operator<(const Whimsical& a, const Whimsical& b) { return (scrambled(a.value ^ (b.value << 20)) >> 60) % 2 == 0; }
  friend bool operator>(const Whimsical& a, const Whimsical& b) { return b < a; }
  friend bool operator<=(const Whimsical& a, const Whimsical& b) { return !(b < a); }
  friend bool operator>=(const Whimsical& a, const Whimsical& b) { return !(a < b); }
  friend bool operator==(const Whimsical& a, const Whimsical& b) { return a.value == b.value; }
};

}  // namespace

template <>
struct weft::Codec<Fragile> {
  static void encode(const Fragile& record, weft::Encoder& out) {
    if (record.value == 17) throw std::runtime_error("a fragile 17 cannot be encoded");
    out.append_value(record.value);
  }
  static Fragile decode(weft::Decoder& in) {
    const Fragile record{in.take_value<std::uint64_t>()};
    if (record.value == 18) throw std::runtime_error("a fragile 18 cannot be decoded");
    return record;
  }
};

namespace {

/// One record of --bytes among small ones.
weft::Dataset<std::string> one_large(weft::Flow& flow, const Options& options) {
  return flow.generate(options.records, [large = options.bytes, middle = options.records / 2](std::uint64_t i) {
    return i == middle ? std::string(large, 'x') : std::to_string(i);
  });
}

weft::Dataset<Pair> one_large_key(weft::Flow& flow, const Options& options) {
  return one_large(flow, options).map([](const std::string& text) { return Pair(text, "v"); });
}

/// Records that take much more than any budget of the tests, and hardly compress.
weft::Dataset<std::pair<std::uint64_t, std::string>> many(weft::Flow& flow, const Options& options) {
  return flow.generate(options.records, [](std::uint64_t i) {
    std::string noise;
    for (std::uint64_t word = 0; word < 12; ++word) {
      const std::uint64_t bits = scrambled(scrambled(i * 16 + word) ^ 0x5bd1e995U);
      noise.append(reinterpret_cast<const char*>(&bits), sizeof bits);
    }
    return std::pair(scrambled(i), noise);
  });
}

std::string key_text(const auto& entry) { return std::to_string(entry.first); }

void run_large(weft::Flow& flow, const Options& options) {
  const std::string& mode = options.mode;
  const auto& output = options.output;
  if (mode == "large-line") {
    flow.read_text(options.input).map([](std::string_view line) { return line.size(); }).write_text(output);
  } else if (mode == "large-record") {
    flow.read_records(options.input, options.bytes).map([](std::string_view record) { return record.size(); }).write_text(output);
  } else if (mode == "large-written") {
    one_large(flow, options).write_text(output);
  } else if (mode == "large-shuffled") {
    one_large(flow, options).repartition(3).map([](const std::string& text) { return text.size(); }).write_text(output);
  } else if (mode == "large-reduced") {
    one_large_key(flow, options)
        .map([](const Pair& pair) { return std::pair(pair.first, std::uint64_t{1}); })
        .reduce_by_key(std::plus<>())
        .map([](const auto& entry) { return entry.first.size() + entry.second; })
        .write_text(output);
  } else if (mode == "large-distinct") {
    one_large(flow, options).distinct().map([](const std::string& text) { return text.size(); }).write_text(output);
  } else if (mode == "large-grouped") {
    one_large_key(flow, options).group_by_key().map([](auto&& entry) { return entry.first.size(); }).write_text(output);
  } else if (mode == "large-sorted") {
    one_large(flow, options)
        .sort_by([](const std::string& text) { return text; })
        .map([](const std::string& text) { return text.size(); })
        .write_text(output);
  } else if (mode == "large-joined") {
    const auto left = one_large_key(flow, options);
    left.join(left, weft::JoinStrategy::hash).map([](const auto& entry) { return entry.first.size(); }).write_text(output);
  } else if (mode == "large-top") {
    one_large(flow, options).top(500).map([](const std::string& text) { return text.size(); }).write_text(output);
  }
}

void run_many(weft::Flow& flow, const Options& options) {
  const std::string& mode = options.mode;
  const auto& output = options.output;
  if (mode == "many-reduced") {
    many(flow, options)
        .reduce_by_key([](std::string a, const std::string&) { return a; })
        .map([](const auto& entry) { return key_text(entry); })
        .write_text(output);
  } else if (mode == "many-grouped") {
    many(flow, options).group_by_key().map([](auto&& entry) { return key_text(entry); }).write_text(output);
  } else if (mode == "many-sorted") {
    many(flow, options)
        .sort_by([](const auto& entry) { return entry.first; })
        .map([](const auto& entry) { return key_text(entry); })
        .write_text(output);
  } else if (mode == "many-joined") {
    const auto left = many(flow, options);
    left.join(left, weft::JoinStrategy::hash).map([](const auto& entry) { return key_text(entry); }).write_text(output);
  } else if (mode == "many-top") {
    many(flow, options).top(options.records / 2).map([](const auto& entry) { return key_text(entry); }).write_text(output);
  }
}

void define(weft::Flow& flow, const Options& options) {
  const auto numbers = flow.generate(options.records, [](std::uint64_t i) { return i; });
  if (options.mode == "codec") {
    numbers.map([](std::uint64_t i) { return Fragile{i}; })
        .repartition(3)
        .map([](const Fragile& f) { return f.value; })
        .write_text(options.output);
  } else if (options.mode == "codec-key") {
    numbers.map([](std::uint64_t i) { return std::pair(Fragile{i}, 1); })
        .reduce_by_key(std::plus<>())
        .map([](const auto& entry) { return entry.second; })
        .write_text(options.output);
  } else if (options.mode == "codec-read") {
    numbers.map([](std::uint64_t i) { return Fragile{i + 18}; })
        .repartition(3)
        .map([](const Fragile& f) { return f.value; })
        .write_text(options.output);
  } else if (options.mode == "whim-sort") {
    numbers.sort_by([](std::uint64_t i) { return Whimsical{i}; }).write_text(options.output);
  } else if (options.mode == "whim-top") {
    numbers.top(options.records / 2, [](std::uint64_t a, std::uint64_t b) { return Whimsical{a} < Whimsical{b}; })
        .write_text(options.output);
  } else if (options.mode == "greedy") {
    numbers
        .map([](std::uint64_t i) {
          thread_local std::vector<std::string> kept;
          kept.emplace_back(4u << 20, 'x');
          return i;
        })
        .write_text(options.output);
  } else {
    run_large(flow, options);
    run_many(flow, options);
  }
}

}  // namespace

int main(int argc, char** argv) { return weft::main<Options>(argc, argv, "Does something bad", declare, define); }
