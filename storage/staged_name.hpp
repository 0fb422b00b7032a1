// What the driver learns of a file that an attempt staged: one name without slashes and line ends, as of files that are renamed.
#pragma once

#include <string>
#include <string_view>

namespace weft::storage {

/// "RECEIPT:NAME", the receipt in hexadecimal digits.
std::string staged_name(std::string_view receipt, std::string_view name);
/// The receipt in such a name; empty when there is none.
std::string receipt_in(std::string_view staged_name);

}  // namespace weft::storage
