// Days and moments as texts of a form that the user gives, in the words of strptime().
#pragma once

#include <string>
#include <string_view>

#include "weft/time.hpp"

namespace weft::detail {

/// The format has: %Y %y (69 to 99 are of the last century) %m %b %B (English names) %d, %H %I %p %M %S %f (one to nine digits
/// behind a second), %z (Z, +01:00, +0100), %s (seconds since 1970), %F (%Y-%m-%d), %T (%H:%M:%S), %%; all else stands for itself.
/// std::invalid_argument for other words, and when it does not say which day is meant. `what` names it in the error.
void check_time_format(std::string_view format, const std::string& what);

// False, and `value` as it was, when the text is not of that form or there is no such day. Months, days, hours, minutes and seconds
// have one or two digits. Without %z it is UTC. `format` has been checked.
bool parse_time(std::string_view text, std::string_view format, Date& value);
bool parse_time(std::string_view text, std::string_view format, Timestamp& value);
void append_time(std::string& line, std::string_view format, Timestamp value);
void append_time(std::string& line, std::string_view format, Date value);

}  // namespace weft::detail
