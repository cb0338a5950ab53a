// The results of WASI preview 1 (witx: errno) that a guest gets here.

export const Errno = {
  SUCCESS: 0,
  BADF: 8,
  FAULT: 21,
  ILSEQ: 25,
  INVAL: 28,
  ISDIR: 31,
  MFILE: 33,
  NAMETOOLONG: 37,
  NOENT: 44,
  NOTDIR: 54,
  NOTSOCK: 57,
  NOTSUP: 58,
  ROFS: 69,
  SPIPE: 70,
  NOTCAPABLE: 76,
} as const;

export type Errno = (typeof Errno)[keyof typeof Errno];

export const orFault = (written: boolean): Errno => (written ? Errno.SUCCESS : Errno.FAULT);

/** Of what a guest gives as an i32: addresses, lengths and descriptors are unsigned. */
export const unsigned = (value: number): number => value >>> 0;
