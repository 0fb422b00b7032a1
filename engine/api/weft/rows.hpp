// What read_csv, read_json, write_csv and write_json take. Their records are plain structs, whose fields are columns (or members)
// of the same name: numbers, bool, std::string, and std::optional of these where a value may be missing; in JSON also plain structs
// and vectors of all that.
#pragma once

#include <map>
#include <string>
#include <vector>

namespace weft {

struct CsvFormat {
  char delimiter = ',';
  /// The first line of each file names its columns; fields find theirs by name. Otherwise the columns are the fields in their
  /// order.
  bool header = true;
  /// Without a header: the names of the files' columns, if they are not those of the fields.
  std::vector<std::string> columns = {};
  /// Fields whose column has another name: {{"price", "Price in EUR"}}.
  std::map<std::string, std::string> names = {};
  /// Texts that mean that the value is missing, quoted or not.
  std::vector<std::string> missing = {""};
  /// Spaces and tabs around numbers and truth values are ignored.
  bool trim = false;
  /// Quoted fields may contain line ends. Then each file is read by one task, because in the middle of a file it is impossible to
  /// know whether a line's end is quoted. Otherwise a line that ends inside of quotes fails the job, unless it is the last of its
  /// file and has no line end: then it is a bad record.
  bool multiline = false;
};

struct JsonFormat {
  /// Fields whose member has another name.
  std::map<std::string, std::string> names = {};
};

}  // namespace weft
