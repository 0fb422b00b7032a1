#include "weft/run.hpp"

#include "driver.hpp"
#include "weft/failure.hpp"

namespace weft {
namespace {

LocalReport report_of(const master::JobStatus& status) {
  runtime::BadRecords bad;
  for (const master::StageStatus& stage : status.stages) add(bad, stage.usage.bad_records);
  return {status.counters, status.input_records, status.input_bytes, bad.count, std::move(bad.examples)};
}

}  // namespace

Result<LocalReport> run_locally(const std::function<void(Flow&)>& define, const LocalOptions& options) {
  client::RunOptions run;
  run.job_name = "local";
  run.threads = options.threads;
  run.memory_bytes = options.memory_bytes;
  WEFT_TRY(master::set_job_options(options.job, run.job));
  run.quiet = true;

  detail::DriverSettings settings;
  settings.partitions = options.partitions;
  settings.overwrite = options.overwrite || options.overwrite_directories;
  settings.keeps_other_directories = options.overwrite_directories;
  settings.check_variants = options.check_variants;
  settings.raw_input = options.raw_input;
  settings.growing_inputs = options.growing_inputs;
  settings.files = client::files_of(run);
  settings.open_session = [run](runtime::JobProgram& program) { return client::open_embedded(run, program); };
  auto graph = std::make_shared<detail::DriverGraph>(std::move(settings));
  try {
    Flow flow(graph);
    define(flow);
    graph->finish();
    const auto status = graph->status();
    return status ? report_of(*status) : LocalReport{};
  } catch (const JobFailure& failure) {
    graph->abandon();
    return fail(failure.error());
  } catch (const runtime::TaskError& fault) {
    graph->abandon();
    return fail(fault.error);
  } catch (const std::exception& fault) {
    graph->abandon();
    return fail(Code::user_code, fault.what());
  }
}

}  // namespace weft
