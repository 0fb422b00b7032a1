// What the programs here have in common: the option that says where the tables are, and numbers without rounding.
//
// The tables are those of TPC-H as Parquet: DIR/lineitem.parquet, a file or a directory of files, and so on. A query's struct has
// the columns that the query needs, and no others are read.
#pragma once

#include <cstdint>
#include <string>

#include <weft/weft.h>

namespace tpch {

struct Options {
  std::string data, output;
  std::string table(const std::string& name) const { return data + "/" + name + ".parquet"; }
};

inline void declare(weft::Arguments& arguments, Options& options) {
  arguments.option("--data", options.data, "Directory of the tables: lineitem.parquet, orders.parquet and so on").required();
  arguments.option("--output", options.output, "Directory for the result, one file of CSV").required();
}

/// A price as whole cents, a rate as whole percents: sums of them are exact, as those of SQL's decimals are.
inline std::int64_t hundredths(double value) { return static_cast<std::int64_t>(value * 100 + (value < 0 ? -0.5 : 0.5)); }

}  // namespace tpch
