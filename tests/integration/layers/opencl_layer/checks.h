/* The checks of snapshot_test, by the file they stand in. */
#ifndef CHECKS_H
#define CHECKS_H

#include "support.h"

/* request_checks.c */
void check_extension_strings(void);
void check_list(void);
void check_wrong_handles(void);
void check_foreign_device(void);
void check_request_errors(void);
void check_latest(void);

/* stage_checks.c */
void check_default_stages(void);
void check_binary_stages(void);
void check_text_stages(void);
void check_tries(void);

/* build_checks.c */
void check_notification(void);
void check_failing_build(void);
void check_compile_and_link(void);
void check_il(const char *path);
void check_binary_program(void);
void check_threads(void);
void check_many_threads(int count);
void check_nested(void);
void check_brief(void);
const struct expected_stage *late_stage(void);

/* process_checks.c */
void check_fork(const char *path);
void check_forks(int children);
void be_killed(const char *folder);
void run_child(const char *stage);
void check_limited(const char *stage, bool refused);

#endif
