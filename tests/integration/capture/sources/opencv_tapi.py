"""OpenCV's transparent API: twenty filters on an OpenCL device (for capture_applications.py)."""

import cv2
import numpy as np

image = cv2.UMat(np.arange(240 * 320 * 3, dtype=np.uint32).astype(np.uint8).reshape(240, 320, 3))
grey = cv2.cvtColor(image, cv2.COLOR_BGR2GRAY)
for name, filtered in (
    ("hsv", cv2.cvtColor(image, cv2.COLOR_BGR2HSV)),
    ("lab", cv2.cvtColor(image, cv2.COLOR_BGR2LAB)),
    ("yuv", cv2.cvtColor(image, cv2.COLOR_BGR2YUV)),
    ("gaussian", cv2.GaussianBlur(image, (7, 7), 1.5)),
    ("box", cv2.blur(image, (5, 5))),
    ("median", cv2.medianBlur(grey, 5)),
    ("bilateral", cv2.bilateralFilter(grey, 5, 20, 20)),
    ("sobel", cv2.Sobel(grey, cv2.CV_16S, 1, 0)),
    ("scharr", cv2.Scharr(grey, cv2.CV_16S, 0, 1)),
    ("laplacian", cv2.Laplacian(grey, cv2.CV_16S)),
    ("canny", cv2.Canny(grey, 50, 150)),
    ("erode", cv2.erode(image, np.ones((3, 3), np.uint8))),
    ("dilate", cv2.dilate(image, np.ones((5, 5), np.uint8))),
    ("resize", cv2.resize(image, (100, 70))),
    ("warp", cv2.warpAffine(grey, np.array([[1, 0.1, 3], [0, 1, 5]], np.float32), (320, 240))),
    ("threshold", cv2.threshold(grey, 100, 255, cv2.THRESH_BINARY)[1]),
    ("adaptive", cv2.adaptiveThreshold(grey, 255, cv2.ADAPTIVE_THRESH_MEAN_C, cv2.THRESH_BINARY, 11, 2)),
    ("equalised", cv2.equalizeHist(grey)),
    ("flipped", cv2.flip(image, 1)),
    ("pyramid", cv2.pyrDown(image)),
):
    size = filtered.get().shape
    print(name, size, flush=True)
