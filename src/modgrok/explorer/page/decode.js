// Arrays travel as base64 of little-endian numbers, row by row.

export const bytes = (text) => Uint8Array.from(atob(text), (character) => character.charCodeAt(0));
export const numbers = (text) => new Uint16Array(bytes(text).buffer);
export const floats = (text) => new Float32Array(bytes(text).buffer);
export const signed = (text) => new Int8Array(bytes(text).buffer);
