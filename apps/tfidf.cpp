// The weight of each word in each document: how often it is there, times the logarithm of how rare it is among the documents.
#include <cmath>

#include <weft/weft.h>

struct Document {
  std::uint64_t id;
  std::string text;
};

void define(weft::Flow& flow, const weft::InputOutput& job) {
  const auto documents = flow.read_json<Document>(job.input);
  const auto all = static_cast<double>(documents.count());
  const auto words = documents.flat_map<std::pair<std::pair<std::string, std::uint64_t>, int>>([](const Document& in, auto&& emit) {
    for (const auto word : weft::words(in.text)) emit({{std::string(word), in.id}, 1});
  });
  const auto counts = words.count_by_key().map(
      [](const auto& word, std::uint64_t times) { return std::pair(word.first, std::pair(word.second, times)); });
  counts.join(counts.count_by_key())
      .map([all](const std::string& word, const auto& in, std::uint64_t holders) {
        return std::tuple(in.first, word, static_cast<double>(in.second) * std::log(all / static_cast<double>(holders)));
      })
      .write_text(job.output);
}

WEFT_JOB(define, "Weighs the words of documents by TF-IDF")
