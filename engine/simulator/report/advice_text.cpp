#include <algorithm>
#include <cmath>

#include <fmt/core.h>

#include "base/json.hpp"
#include "base/text.hpp"
#include "engine/simulator/report/advice.hpp"

namespace weft::simulator::report {

namespace {

constexpr std::size_t kMostUsers = 4, kMostCandidates = 16;

std::string name_of_user(const std::string& user) { return user.empty() ? "nobody" : escaped(user); }

/// "  mean completion time   12.3 s -> 8.2 s  -33.1 ± 4.2 %".
std::string change_line(const char* what, const ComparedFigure& before, const ComparedFigure& after, Format format) {
  const std::string part = relative(after.paired);
  return fmt::format("  {:<22} {} -> {}   {}\n", what, format_value(before.value.mean, format),
                     format_value(after.value.mean, format), part.empty() ? "no difference" : part);
}

const Candidate& candidate(const Advice& advice, const std::string& scheduler) {
  return *std::ranges::find_if(advice.candidates, [&](const Candidate& one) { return one.scheduler == scheduler; });
}

std::string gains(const Advice& advice) {
  const Candidate &before = candidate(advice, advice.present), &after = candidate(advice, advice.recommended);
  std::string text = change_line("mean completion time", before.mean, after.mean, Format::seconds);
  text += change_line("95th percentile", before.tail, after.tail, Format::seconds);
  text += change_line("makespan", before.makespan, after.makespan, Format::seconds);
  if (before.missed && after.missed)
    text += fmt::format("  {:<22} {} -> {}\n", "deadlines missed", format_value(before.missed->value.mean, Format::percent),
                        format_value(after.missed->value.mean, Format::percent));
  if (before.crossing && after.crossing)
    text += change_line("bytes between racks", *before.crossing, *after.crossing, Format::bytes);
  return text;
}

std::string costs(const Advice& advice) {
  constexpr double kNoticed = 1.01;
  const double slower = candidate(advice, advice.recommended).jobs_slower;
  std::string text = fmt::format("costs: {:.0f} % of the jobs take longer", 100 * slower);
  if (!advice.jobs.empty()) {
    const JobChange& job = advice.jobs.front();
    text += fmt::format(", at most {}: {} -> {}", escaped(job.job), format_value(job.before, Format::seconds),
                        format_value(job.after, Format::seconds));
  }
  std::size_t shown = 0;
  for (const UserChange& user : advice.users) {
    if (user.ratio() < kNoticed || shown == kMostUsers) break;
    text += fmt::format("{}{} ({} jobs) {:+.0f} %", shown++ == 0 ? "\n  users whose jobs take longer together: " : ", ",
                        name_of_user(user.user), user.jobs, 100 * (user.ratio() - 1));
  }
  if (shown == 0) text += "\n  no user's jobs take longer together";
  return text + "\n";
}

std::string over_present(const ComparedFigure& figure) {
  if (!figure.paired || !figure.paired->ratio) return "1";
  const Estimate& ratio = *figure.paired->ratio;
  return fmt::format("{:.2f}", ratio.mean) + (ratio.half_width > 0 ? fmt::format(" ±{:.2f}", ratio.half_width) : "");
}

/// As wide as its widest cell; "±" is one column and two bytes.
std::string padded(const std::string& cell, std::size_t width) {
  const auto continued = std::ranges::count_if(cell, [](char one) { return (static_cast<unsigned char>(one) & 0xc0u) == 0x80u; });
  const std::size_t columns = cell.size() - static_cast<std::size_t>(continued);
  return cell + std::string(width > columns ? width - columns : 0, ' ');
}

std::string table(const Advice& advice) {
  const bool missed = advice.candidates.front().missed.has_value();
  std::size_t widest = 9;
  for (const Candidate& one : advice.candidates) widest = std::max(widest, one.scheduler.size());
  std::string text = padded("SCHEDULER", widest + 2) + padded("MEAN", 13) + padded("P95", 13) + padded("MAKESPAN", 13) +
                     (missed ? padded("MISSED", 9) : "") + padded("SLOWER JOBS", 13) + "WORST USER\n";
  std::size_t left = kMostCandidates;
  for (const Candidate& one : advice.candidates) {
    if (left-- == 0) break;
    const bool present = one.scheduler == advice.present;
    text += padded(one.scheduler, widest + 2) + padded(over_present(one.mean), 13) + padded(over_present(one.tail), 13) +
            padded(over_present(one.makespan), 13);
    if (missed) text += padded(one.missed ? format_value(one.missed->value.mean, Format::percent) : "-", 9);
    text += present ? "(the present one)"
                    : padded(fmt::format("{:.0f} %", 100 * one.jobs_slower), 13) +
                          fmt::format("{} {:.2f}", name_of_user(one.worst_user), one.worst_user_ratio);
    if (!one.objection.empty()) text += "  no: " + one.objection;
    text += "\n";
  }
  return text;
}

std::string accuracy_line(const Accuracy& accuracy) {
  return fmt::format(
      "simulator: {} jobs under {} took {} in the mean, simulated {} ({:+.1f} %); makespan {:+.1f} %, one job {:+.1f} % at most\n",
      accuracy.jobs, accuracy.scheduler, format_value(accuracy.recorded_mean, Format::seconds),
      format_value(accuracy.simulated_mean, Format::seconds), 100 * accuracy.error(), 100 * accuracy.makespan_error,
      100 * accuracy.worst_job_error);
}

void add(JsonWriter& json, std::string_view name, const std::optional<ComparedFigure>& figure) {
  if (!figure) return;
  const auto estimate = [&json](std::string_view key, const Estimate& value) {
    json.key(key).begin_object().member("mean", value.mean).member("half_width", value.half_width).member("runs", value.runs);
    json.end_object();
  };
  json.key(name).begin_object();
  estimate("value", figure->value);
  if (figure->paired) estimate("difference", figure->paired->difference);
  if (figure->paired && figure->paired->ratio) estimate("ratio", *figure->paired->ratio);
  json.end_object();
}

void add(JsonWriter& json, const Candidate& candidate) {
  json.begin_object().member("scheduler", candidate.scheduler).member("runs", candidate.runs);
  add(json, "completion_mean", candidate.mean);
  add(json, "completion_p95", candidate.tail);
  add(json, "makespan", candidate.makespan);
  add(json, "deadlines_missed", candidate.missed);
  add(json, "cross_rack_bytes", candidate.crossing);
  json.member("jobs_slower", candidate.jobs_slower).member("worst_user", candidate.worst_user);
  json.member("worst_user_ratio", candidate.worst_user_ratio);
  if (!candidate.objection.empty()) json.member("objection", candidate.objection);
  json.end_object();
}

}  // namespace

std::string to_text(const Advice& advice) {
  std::string text;
  for (const auto& [label, value] : advice.facts) {
    if (label != "seeds") text += label + ": " + escaped(value) + "\n";
  }
  if (advice.accuracy) text += accuracy_line(*advice.accuracy);
  if (advice.recommended == advice.present) {
    text += fmt::format("\nStay with {}. {}\n", advice.present, advice.reason);
  } else {
    text += fmt::format("\nUse {} in place of {}.\n", advice.recommended, advice.present) + gains(advice) + costs(advice);
  }
  text += fmt::format("\nover {}, by {}:\n", advice.present, metric_of(advice.goal)) + table(advice);
  if (advice.seeds > 1) text += fmt::format("±: half the 95 % confidence interval over {} {}\n", advice.seeds, advice.variation);
  for (const Warning& one : advice.warnings)
    text += fmt::format("warning: {}{}{}\n", one.text, one.remedy.empty() ? "" : "; ", one.remedy);
  return text;
}

std::string to_json(const Advice& advice) {
  JsonWriter json;
  json.begin_object().member("present", advice.present).member("recommended", advice.recommended);
  if (!advice.reason.empty()) json.member("reason", advice.reason);
  json.member("goal", metric_of(advice.goal)).member("seeds", advice.seeds).key("facts").begin_object();
  for (const auto& [label, value] : advice.facts) json.member(label, value);
  json.end_object().key("candidates").begin_array();
  for (const Candidate& one : advice.candidates) add(json, one);
  json.end_array().key("users").begin_array();
  for (const UserChange& user : advice.users) {
    json.begin_object().member("user", user.user).member("jobs", user.jobs).member("before", user.before);
    json.member("after", user.after).member("ratio", user.ratio()).end_object();
  }
  json.end_array().key("jobs").begin_array();
  for (const JobChange& job : advice.jobs)
    json.begin_object().member("job", job.job).member("before", job.before).member("after", job.after).end_object();
  json.end_array();
  if (const auto& accuracy = advice.accuracy) {
    json.key("accuracy").begin_object().member("scheduler", accuracy->scheduler).member("jobs", accuracy->jobs);
    json.member("recorded_mean", accuracy->recorded_mean).member("simulated_mean", accuracy->simulated_mean);
    json.member("mean_error", accuracy->error()).member("makespan_error", accuracy->makespan_error);
    json.member("worst_job_error", accuracy->worst_job_error).end_object();
  }
  json.key("warnings").begin_array();
  for (const Warning& one : advice.warnings) json.value(one.text);
  json.end_array().key("remedies").begin_array();
  for (const Warning& one : advice.warnings) json.value(one.remedy);
  json.end_array().end_object();
  return json.text() + "\n";
}

}  // namespace weft::simulator::report
