#include "opencl_layer/second_build/job.h"

void job_write(struct writer *writer, const struct job *job)
{
    write_number(writer, job->operation);
    write_number(writer, job->queries_binary);
    write_number(writer, job->options != NULL);
    write_text(writer, job->options != NULL ? job->options : "");
    write_number(writer, job->count);
}

void job_write_program(struct writer *writer, const struct job_program *program)
{
    write_number(writer, program->form);
    write_block(writer, program->bytes.bytes, program->bytes.size);
    write_number(writer, program->constant_count);
}

void job_write_constant(struct writer *writer, const struct job_constant *constant)
{
    write_number(writer, constant->identifier);
    write_block(writer, constant->value.bytes, constant->value.size);
}

struct job job_read(struct reader *reader)
{
    struct job job = {.operation = (enum job_operation)read_number(reader)};
    job.queries_binary = read_number(reader) != 0;
    bool has_options = read_number(reader) != 0;
    const char *options = read_text(reader);
    job.options = has_options ? options : NULL;
    job.count = read_number(reader);
    if (job.count == 0 || job.count > reader->size)
        reader->failed = true;
    return job;
}

struct job_program job_read_program(struct reader *reader)
{
    struct job_program program = {.form = (enum program_form)read_number(reader)};
    program.bytes.bytes = read_block(reader, &program.bytes.size);
    program.constant_count = read_number(reader);
    return program;
}

struct job_constant job_read_constant(struct reader *reader)
{
    struct job_constant constant = {.identifier = (uint32_t)read_number(reader)};
    constant.value.bytes = read_block(reader, &constant.value.size);
    return constant;
}
