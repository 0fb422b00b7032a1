// The comparison for readers: rows for a terminal, JSON for programs, a page for a browser without a network.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "engine/simulator/report/comparison.hpp"

namespace weft::simulator::report {

/// Rows of equally many cells, the first of headings.
using Rows = std::vector<std::vector<std::string>>;

/// A row for each metric that any scheduler has, a column per scheduler: the mean, with several seeds ± half the 95 % confidence
/// interval, and the difference to the first scheduler in percent of it, seed by seed (metrics.hpp), also with its interval.
Rows summary_rows(const Comparison& comparison);
/// A row for each job with a deadline, in the first seed, and a column per scheduler: met with the time to spare, or late by how
/// much. The last row counts the met ones. Only the heading when no job has a deadline.
Rows deadline_rows(const Comparison& comparison);
/// A row per job of the replay; the last is the makespan.
Rows replay_rows(const Replay& replay);
/// "launches as in the log: 99 of 100".
std::string launches_text(const Replay& replay);
/// "fifo: job a: failed: …" of every job that did not finish in the first seed, at most `most` lines.
std::vector<std::string> failures(const Comparison& comparison, std::size_t most);

std::string to_json(const Comparison& comparison);

/// Tables for spreadsheets and scripts, with a heading line each, by file name: "summary.csv", "jobs.csv", "series.csv",
/// "racks.csv" and "fairness.csv".
std::map<std::string, std::string> to_csv(const Comparison& comparison);

/// One HTML page: nothing is loaded from elsewhere.
std::string to_html(const Comparison& comparison);

}  // namespace weft::simulator::report
