// Reads messages of Protocol Buffers: the wire format, without a description of the fields.

const VARINT = 0;
const FIXED64 = 1;
const BYTES = 2;
const FIXED32 = 5;

// Calls `field(number, value)` for each field of a message: a number, or the bytes of a string or of another message.
// Four bytes are a float.
export function readMessage(bytes, field) {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  let at = 0;
  const varint = () => {
    let value = 0;
    for (let factor = 1; ; factor *= 128) {
      const byte = view.getUint8(at++);
      value += (byte & 127) * factor;
      if (byte < 128) return value;
    }
  };
  const values = {
    [VARINT]: varint,
    [FIXED64]: () => view.getFloat64((at += 8) - 8, true),
    [FIXED32]: () => view.getFloat32((at += 4) - 4, true),
    [BYTES]: () => {
      const length = varint();
      return bytes.subarray(at, (at += length));
    },
  };
  while (at < bytes.length) {
    const key = varint();
    field(Math.floor(key / 8), values[key % 8]());
  }
}
