// Counts words: whitespace-separated tokens in, "word<TAB>count" out: wordcount --input book.txt --input more/ --output counts
#include <weft/weft.h>

void define(weft::Flow& flow, const weft::InputOutput& job) {
  flow.read_text(job.input)
      .flat_map(weft::split_words)
      .map([](std::string_view word) { return std::pair(word, std::uint64_t{1}); })
      .reduce_by_key(std::plus<>())
      .write_text(job.output);
}

WEFT_JOB(define, "Counts the words of text files")
