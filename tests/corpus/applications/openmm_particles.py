"""Ten steps of 64 particles with OpenMM's OpenCL platform (for tests.corpus.programs)."""

import openmm

system = openmm.System()
force = openmm.NonbondedForce()
for _ in range(64):
    system.addParticle(10.0)
    force.addParticle(0.0, 0.3, 0.5)
system.addForce(force)
platform = openmm.Platform.getPlatformByName("OpenCL")
context = openmm.Context(system, openmm.VerletIntegrator(0.001), platform)
context.setPositions([openmm.Vec3(0.4 * (i % 4), 0.4 * (i // 4 % 4), 0.4 * (i // 16)) for i in range(64)])
context.getIntegrator().step(10)
print(round(context.getState(getEnergy=True).getPotentialEnergy()._value, 3))
