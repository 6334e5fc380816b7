"""A launch of a kernel as an application made it, kept whole: what it was given, and the memory that it could reach, before and
after. Enough to run it again, alone."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kernlens.dataclass import dataclass, field

if TYPE_CHECKING:
    from collections.abc import Callable

#: Kinds of memory: buffers, images, shared virtual memory, and Intel's unified shared memory of host, device and both.
BUFFER, IMAGE, SVM, HOST, DEVICE, SHARED = MEMORY_KINDS = "buffer", "image", "svm", "host", "device", "shared"
#: Kinds that kernels reach by addresses.
BY_ADDRESS = (SVM, HOST, DEVICE, SHARED)
#: Kinds of arguments. ``null`` is a memory object or pointer that is none.
VALUE, LOCAL, MEMORY, SAMPLER, POINTER, NULL = ARGUMENT_KINDS = "value", "local", "memory", "sampler", "pointer", "null"


@dataclass(frozen=True, slots=True)
class ImageForm:
    """An image's format and description: numbers of OpenCL (``cl_image_format``, ``cl_image_desc``), sizes in pixels. Its
    contents are rows without gaps. ``buffer`` is the number of the memory that it is made of, None if that is its own;
    ``row_pitch`` are the bytes from row to row in a buffer that it is made of, 0 if they have no gaps."""

    order: int
    data_type: int
    object_type: int
    width: int
    height: int
    depth: int
    array_size: int
    mip_levels: int = 0
    samples: int = 0
    element_size: int = 0
    buffer: int | None = None
    row_pitch: int = 0


@dataclass(frozen=True, slots=True)
class KeptMemory:
    """Memory that the launch could reach: ``size`` in bytes, ``flags`` of OpenCL (``cl_mem_flags``; of shared virtual memory
    ``cl_svm_mem_flags``; of unified shared memory 0), ``address`` where the application had it (0: not by an address).

    ``before`` and ``after`` give the contents, None where none were kept, as the application forbids to read them or the driver
    refused; ``why`` says which. ``after`` is None too where a kernel cannot write.
    """

    kind: str
    size: int
    flags: int = 0
    address: int = 0
    image: ImageForm | None = None
    before: Callable[[], bytes] | None = field(default=None, repr=False, compare=False)
    after: Callable[[], bytes] | None = field(default=None, repr=False, compare=False)
    why: str = ""


@dataclass(frozen=True, slots=True)
class KeptArgument:
    """An argument by its kind. ``content`` is a value's bytes. ``memory`` is the number of the launch's memory: a buffer or an
    image, with ``size`` above 0 the part (sub-buffer, with its own ``flags``) of so many bytes that begins at ``offset``; for
    a pointer ``offset`` is the place that it points to. ``size`` of local memory are its bytes. ``sampler`` is (normalized,
    addressing mode, filter mode) as OpenCL numbers them."""

    kind: str
    content: bytes = b""
    memory: int | None = None
    offset: int = 0
    size: int = 0
    flags: int = 0
    sampler: tuple[int, int, int] | None = None


@dataclass(frozen=True, slots=True)
class KeptLaunch:
    """A launch. ``number`` counts those of the kernel's name in the application's process ``process``, from 1. Sizes are in
    work-items; ``local_size`` is None where the driver was to choose it. ``indirect`` are the numbers of memory that is
    reached by addresses and no argument points to. ``nanoseconds`` is the device's time, None if it was not asked for."""

    kernel: str
    number: int
    process: int
    global_size: tuple[int, ...]
    local_size: tuple[int, ...] | None
    global_offset: tuple[int, ...]
    arguments: tuple[KeptArgument, ...]
    memory: tuple[KeptMemory, ...]
    indirect: tuple[int, ...] = ()
    nanoseconds: int | None = None
    notes: tuple[str, ...] = ()

    @property
    def size(self) -> int:
        """Bytes of memory that it could reach."""
        return sum(each.size for each in self.memory)
