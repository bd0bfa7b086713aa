// Older majors of frameworks, installed under names of their own. What the tests use of them has the types of the newer ones.
declare module 'express4' {
  import express from 'express';

  export default express;
}

declare module 'koa2' {
  import Koa from 'koa';

  export default Koa;
}
