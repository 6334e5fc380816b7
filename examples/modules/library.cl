// SPDX-License-Identifier: Apache-2.0
global int calls = 0;
float smooth(float value, float factor) { calls++; return value * factor + 1.0f; }
