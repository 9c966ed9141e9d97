// The orientation that a camera writes into a JPEG file.

const kStart = 0xffd8;
const kApp1 = 0xffe1;
const kStartOfScan = 0xffda;
const kExif = 0x45786966;
const kLittleEndian = 0x4949;
const kOrientation = 0x0112;

/** The part of a file that is searched: EXIF comes first. */
export const kExifBytes = 1 << 18;

/** The entry of the first directory of the TIFF structure at `start`. */
function tiffOrientation(view: DataView, start: number): number {
  const little = view.getUint16(start) === kLittleEndian;
  const directory = start + view.getUint32(start + 4, little);
  const entries = view.getUint16(directory, little);
  for (let i = 0; i < entries; ++i) {
    const entry = directory + 2 + 12 * i;
    if (view.getUint16(entry, little) === kOrientation) return view.getUint16(entry + 8, little);
  }
  return 1;
}

function jpegOrientation(view: DataView): number {
  if (view.getUint16(0) !== kStart) return 1;
  for (let at = 2; ; at += 2 + view.getUint16(at + 2)) {
    const marker = view.getUint16(at);
    if (marker === kStartOfScan) return 1;
    if (marker === kApp1 && view.getUint32(at + 4) === kExif) return tiffOrientation(view, at + 10);
  }
}

/** 1 (upright) to 8; 1 where a file has none that can be read. */
export function orientationOf(file: ArrayBuffer): number {
  try {
    const orientation = jpegOrientation(new DataView(file));
    return orientation >= 1 && orientation <= 8 ? orientation : 1;
  } catch {
    return 1; // it ends too early
  }
}
