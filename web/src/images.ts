// The images of this session: drawn samples, and those that the user brought. They stay in memory; the address
// names them, but a permalink to one's own image needs the image again.

import { kExifBytes, orientationOf } from "./exif";
import automobile from "./samples/automobile.svg";
import bird from "./samples/bird.svg";
import cat from "./samples/cat.svg";
import ship from "./samples/ship.svg";

export interface LoadedImage {
  key: string;
  /** The bytes that are sent to the server. */
  blob: Blob;
  bitmap: ImageBitmap;
}

/** Drawings made for this page (under the project's licence), rasterised in the browser. */
export const kSamples: Record<string, string> = { ship, automobile, cat, bird };
const kSampleSide = 224;

/** What the server decodes by itself; anything else is sent as PNG. */
const kServerTypes = ["image/jpeg", "image/png", "image/webp"];

const loaded = new Map<string, LoadedImage>();
let own = 0;

export const ownImages = (): LoadedImage[] => [...loaded.values()].filter((i) => !kSamples[i.key]);

async function encoded(source: CanvasImageSource, width: number, height: number, type: string) {
  const canvas = document.createElement("canvas");
  canvas.width = width;
  canvas.height = height;
  canvas.getContext("2d")!.drawImage(source, 0, 0, width, height);
  return new Promise<Blob>((done, fail) =>
    canvas.toBlob((blob) => (blob ? done(blob) : fail(new Error("canvas is empty"))), type, 0.95),
  );
}

function remember(key: string, blob: Blob, bitmap: ImageBitmap): LoadedImage {
  const image = { key, blob, bitmap };
  loaded.set(key, image);
  return image;
}

/** The image of a key: a sample, or one that was brought in this session. */
export async function imageOf(key: string): Promise<LoadedImage | undefined> {
  const known = loaded.get(key);
  const url = kSamples[key];
  if (known || !url) return known;
  const drawing = new Image(kSampleSide, kSampleSide);
  drawing.src = url;
  await drawing.decode();
  const blob = await encoded(drawing, kSampleSide, kSampleSide, "image/png");
  return remember(key, blob, await createImageBitmap(blob));
}

/** The centre of an image at the size that a generator knows, as PNG. */
export async function cutTo({ bitmap }: LoadedImage, width: number, height: number): Promise<Blob> {
  const scale = Math.max(width / bitmap.width, height / bitmap.height);
  const [cutWidth, cutHeight] = [width / scale, height / scale];
  const options = { resizeWidth: width, resizeHeight: height, resizeQuality: "high" } as const;
  const cut = await createImageBitmap(bitmap, (bitmap.width - cutWidth) / 2, (bitmap.height - cutHeight) / 2, cutWidth, cutHeight, options);
  return encoded(cut, width, height, "image/png");
}

/** Takes in a file; throws if the browser cannot decode it. */
export async function addImage(file: Blob): Promise<LoadedImage> {
  const bitmap = await createImageBitmap(file);
  // The browser turns and mirrors photographs by their EXIF orientation, the server does not: send them upright.
  const turned = orientationOf(await file.slice(0, kExifBytes).arrayBuffer()) > 1;
  const blob =
    !turned && kServerTypes.includes(file.type)
      ? file
      : await encoded(bitmap, bitmap.width, bitmap.height, turned ? "image/jpeg" : "image/png");
  return remember(`own-${++own}`, blob, bitmap);
}
